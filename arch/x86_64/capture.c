/* SPDX-License-Identifier: MIT */
/*
 * See capture.h. The code begins with two jumps. The first one is the switch: its distance is 0 or
 *5, so that it leads to the second one, which leads past everything, or over it. Then the stack
 *pointer is moved below the red zone, and flags and seven registers are pushed. From there on,
 *relative to the stack pointer, there are:
 *
 *	0 r9, 8 r8, 16 rdi, 24 rsi, 32 rdx, 40 rcx, 48 rax, 56 flags, 64 red zone, 192 what rsp was
 *
 * The hook counts on these 192 bytes (STUB in target/hook.S) to find the record's sp. Four values
 *go to rdi, rsi, rdx and rcx, then the hook is called. The bytes after the call give the record's
 *kind and flags.
 */
#include "arch/capture.h"

#include <string.h>
#include <sys/auxv.h>

#include "arch/area.h"
#include "arch/x86_64/capture-insn.h"
#include "core/record.h"

static const uint8_t value_register[4] = {RDI, RSI, RDX, RCX};

/* Emits the extension of %rax from its low `size' bytes. */
static void extend(struct dt_emit *o, unsigned size, bool is_signed)
{
	switch (size) {
	case 1: /* movsx %al, %rax; movzx %al, %eax */
		dt_emit_bytes(o, is_signed ? "\x48\x0f\xbe\xc0" : "\x0f\xb6\xc0",
			      is_signed ? 4 : 3);
		break;
	case 2:
		dt_emit_bytes(o, is_signed ? "\x48\x0f\xbf\xc0" : "\x0f\xb7\xc0",
			      is_signed ? 4 : 3);
		break;
	case 4: /* cltq; mov %eax, %eax */
		dt_emit_bytes(o, is_signed ? "\x48\x98" : "\x89\xc0", 2);
		break;
	}
}

static void add_constant(struct dt_emit *o, int64_t v)
{
	if (!v)
		return;
	if (v == (int32_t)v) { /* add $imm32, %rax */
		dt_emit_bytes(o, "\x48\x05", 2);
		dt_emit_u32(o, (uint32_t)v);
		return;
	}
	move_constant(o, R9, (uint64_t)v);
	op_registers(o, 0x01, R9, RAX);
}

/* Emits code that computes the address of a memory operand to %rax. False: it can not be known. */
static bool address_of(struct dt_emit *o, const struct dt_item *item, const struct dt_capture *c)
{
	const struct dt_operand *from = &item->from;
	int64_t value = from->value + (item->relative ? (int64_t)c->bias : 0);

	if (from->segment == 'g' || (from->segment == 'f' && !c->fsbase))
		return false;
	if (from->base == DT_REGISTER_NONE)
		move_constant(o, RAX, 0);
	else
		get_register(o, RAX, from->base, c);
	if (from->index != DT_REGISTER_NONE) {
		get_register(o, R9, from->index, c);
		/* shl $n, %r9 */
		dt_emit_bytes(o, "\x49\xc1\xe1", 3);
		dt_emit_byte(o, from->scale == 8 ? 3 : from->scale == 4 ? 2 : from->scale == 2);
		op_registers(o, 0x01, R9, RAX);
	}
	if (from->segment == 'f') {
		dt_emit_bytes(o, "\xf3\x49\x0f\xae\xc1", 5); /* rdfsbase %r9 */
		op_registers(o, 0x01, R9, RAX);
	}
	add_constant(o, value);
	return true;
}

/* Emits the load of (%rax) to %rax, extended with zeros. */
static void load(struct dt_emit *o, unsigned size)
{
	static const struct {
		uint8_t n, bytes[3];
	} insn[] = {{3, {0x0f, 0xb6, 0x00}},
		    {3, {0x0f, 0xb7, 0x00}},
		    {2, {0x8b, 0x00}},
		    {3, {0x48, 0x8b, 0x00}}};
	unsigned i = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;

	dt_emit_bytes(o, insn[i].bytes, insn[i].n);
}

/*
 * Emits the load of what is at %rax. The page that the stack pointer points into is mapped: it
 * holds the function's return address at least. Everything else is read by the kernel for us.
 * (peek: the address in rax, and in r9d the size, plus 256 if it is signed; it returns the value in
 * rax, or DT_CAPTURE_BAD there and 1 in r8d.)
 */
static void load_anywhere(struct dt_emit *o, unsigned size, bool is_signed,
			  const struct dt_capture *c)
{
	size_t other_page, crosses, done;

	op_frame(o, 0x8d, R9, FRAME);
	op_registers(o, 0x31, RAX, R9);
	dt_emit_bytes(o, "\x49\xf7\xc1", 3); /* test $-4096, %r9 */
	dt_emit_u32(o, 0xfffff000u);
	other_page = jump_short(o, 0x75);
	dt_emit_bytes(o, "\x41\x89\xc1\x41\x81\xe1", 6); /* mov %eax, %r9d; and $4095, %r9d */
	dt_emit_u32(o, 4095);
	dt_emit_bytes(o, "\x41\x81\xf9", 3); /* cmp $4096 - size, %r9d */
	dt_emit_u32(o, 4096 - size);
	crosses = jump_short(o, 0x77);
	load(o, size);
	extend(o, size, is_signed);
	done = jump_short(o, 0xeb);
	land_short(o, other_page);
	land_short(o, crosses);
	move_constant(o, R9, size | is_signed << 8);
	call(o, c->peek);
	land_short(o, done);
}

/* Looks whether a memory operand is in the file's own memory, at a known address. */
static bool is_own(const struct dt_item *item, const struct dt_capture *c)
{
	uint64_t at = (uint64_t)item->from.value + (item->relative ? c->bias : 0);

	if (item->from.base != DT_REGISTER_NONE || item->from.index != DT_REGISTER_NONE ||
	    item->from.segment)
		return false;
	for (unsigned i = 0; i < c->owns; i++)
		if (at >= c->own[i].low && at < c->own[i].high &&
		    c->own[i].high - at >= item->from.size)
			return true;
	return false;
}

/* Looks whether getting the item may fail, since it reads memory that may not be mapped. */
static bool may_fail(const struct dt_item *item, const struct dt_capture *c)
{
	if (item->from.kind == DT_OPERAND_UNKNOWN || item->from.kind == DT_OPERAND_KEPT)
		return true;
	if (item->from.kind == DT_OPERAND_MEMORY && !item->place && !is_own(item, c))
		return true;
	for (unsigned i = 0; i < item->steps; i++)
		if (!item->step[i].place)
			return true;
	return item->from.kind == DT_OPERAND_MEMORY && item->from.segment;
}

/* Emits the value of an item that can not be read. */
static void bad(struct dt_emit *o)
{
	move_constant(o, RAX, DT_CAPTURE_BAD);
	move_constant(o, R8, 1);
}

/* ---- what calls keep */

/*
 * Emits code that makes the key of the call in %r9, and finds its slot, whose offset among the
 * slots will be in %rcx. The stack pointer is the same at a function's entry and where it returns.
 */
static void find_kept(struct dt_emit *o, const struct dt_capture *c)
{
	op_frame(o, 0x8d, R9, FRAME);
	move_constant(o, RCX, (uint64_t)c->kept.tag << 48);
	op_registers(o, 0x31, RCX, R9);
	move_constant(o, RCX, DT_SLOT_HASH);
	dt_emit_bytes(o, "\x49\x0f\xaf\xc9", 4); /* imul %r9, %rcx */
	dt_emit_bytes(o, "\x48\xc1\xe9\x39", 4); /* shr $57, %rcx */
	dt_emit_bytes(o, "\x48\xc1\xe1\x04", 4); /* shl $4, %rcx */
}

/* Emits mov between %rax (0x8b: load, 0x89: store) and the slot that find_kept() has found. */
static void op_kept(struct dt_emit *o, uint8_t op, const struct dt_capture *c, unsigned offset)
{
	dt_emit_byte(o, 0x48);
	dt_emit_byte(o, op);
	dt_emit_byte(o, 0x81); /* disp32(%rcx), %rax */
	dt_emit_u32(o, (uint32_t)c->slots + offset);
}

/* Emits code that keeps a register. */
static void keep(struct dt_emit *o, const struct dt_capture *c)
{
	find_kept(o, c);
	get_register(o, RAX, c->kept.reg, c);
	op_kept(o, 0x89, c, 8);
	op_registers(o, 0x31, R9, RAX);
	op_kept(o, 0x89, c, 0);
}

/* Emits code that gets what was kept to %rax; the zero flag is clear if nothing was. */
static void get_kept(struct dt_emit *o, const struct dt_capture *c)
{
	find_kept(o, c);
	op_kept(o, 0x8b, c, 0);
	op_registers(o, 0x31, RAX, R9);
	op_kept(o, 0x8b, c, 8);
	dt_emit_bytes(o, "\x4c\x39\xc8", 3); /* cmp %r9, %rax */
}

/* Emits code that forgets what was kept, so that no later call takes it for its own. */
static void forget_kept(struct dt_emit *o, const struct dt_capture *c)
{
	find_kept(o, c);
	move_constant(o, RAX, 0);
	op_kept(o, 0x89, c, 0);
	op_kept(o, 0x89, c, 8);
}

/* Emits the start of a jump that is taken unless the result says what `when' means. */
static size_t unless_result(struct dt_emit *o, uint8_t when)
{
	op_frame(o, 0x8b, RAX, 48);
	if (when == DT_KEPT_POSITIVE)
		dt_emit_bytes(o, "\x48\x85\xc0\x0f\x8e", 5); /* test %rax, %rax; jle */
	else if (when == DT_KEPT_ZERO)
		dt_emit_bytes(o, "\x85\xc0\x0f\x85", 4); /* test %eax, %eax; jne */
	else
		dt_emit_bytes(o, "\x85\xc0\x0f\x88", 4); /* js */
	dt_emit_u32(o, 0);
	return o->size - 4;
}

/* Emits a jump that is taken if the result, at whose flags it is, is one of these three. */
static size_t jump_results(struct dt_emit *o, unsigned results)
{
	/* by DT_RESULT_...: js, je, jle, jg, jne, jns, jmp */
	static const uint8_t jump[] = {0x78, 0x74, 0x7e, 0x7f, 0x75, 0x79, 0xeb};

	return jump_short(o, jump[results - 1]);
}

/* Emits the start of a jump that is taken unless the result is one of those. */
static size_t unless_results(struct dt_emit *o, uint8_t results)
{
	unsigned narrow = results & DT_RESULT_ANY, wide = results >> DT_RESULT_WIDE & DT_RESULT_ANY;
	size_t is[2] = {0}, past;

	op_frame(o, 0x8b, RAX, 48);
	if (narrow) {
		dt_emit_bytes(o, "\x85\xc0", 2); /* test %eax, %eax */
		is[0] = jump_results(o, narrow);
	}
	if (wide) {
		dt_emit_bytes(o, "\x48\x85\xc0", 3); /* test %rax, %rax */
		is[1] = jump_results(o, wide);
	}
	dt_emit_byte(o, 0xe9);
	past = o->size;
	dt_emit_u32(o, 0);
	if (narrow)
		land_short(o, is[0]);
	if (wide)
		land_short(o, is[1]);
	return past;
}

/* Emits code that gets the item's value to %rax. */
static void get_item(struct dt_emit *o, const struct dt_item *item, const struct dt_capture *c)
{
	const struct dt_operand *from = &item->from;
	unsigned size = from->size > 8 ? 8 : from->size;

	switch (from->kind) {
	case DT_OPERAND_REGISTER:
		if (from->reg >= DT_REGISTER_XMM0 && from->reg < DT_REGISTER_XMM0 + 16) {
			get_vector(o, RAX, from->reg - DT_REGISTER_XMM0);
		} else if (from->reg < DT_REGISTER_XMM0 || from->reg == DT_REGISTER_FLAGS ||
			   from->reg == DT_REGISTER_RIP) {
			get_register(o, RAX, from->reg, c);
			if (from->byte) { /* shr $8 * byte, %rax */
				dt_emit_bytes(o, "\x48\xc1\xe8", 3);
				dt_emit_byte(o, (uint8_t)(8 * from->byte));
			}
		} else {
			bad(o);
			return;
		}
		extend(o, size, from->is_signed);
		break;
	case DT_OPERAND_KEPT: {
		size_t there;

		get_kept(o, c);
		there = jump_short(o, 0x74);
		bad(o);
		land_short(o, there);
		break;
	}
	case DT_OPERAND_CONSTANT:
		move_constant(o, RAX, (uint64_t)from->value + (item->relative ? c->bias : 0));
		break;
	case DT_OPERAND_MEMORY:
		if (!address_of(o, item, c)) {
			bad(o);
			return;
		}
		if (item->place)
			break;
		if (!is_own(item, c)) {
			load_anywhere(o, size, from->is_signed, c);
			break;
		}
		load(o, size);
		extend(o, size, from->is_signed);
		break;
	default:
		bad(o);
		return;
	}
	/* a pointer that could not be read (DT_CAPTURE_BAD) leads to nothing that can be read */
	for (unsigned i = 0; i < item->steps; i++) {
		add_constant(o, item->step[i].add);
		if (item->step[i].place)
			continue;
		load_anywhere(o, item->step[i].size, item->step[i].is_signed, c);
	}
}

/* Emits the call of the hook, and after it what the hook puts into the record. */
static void record(struct dt_emit *o, const struct dt_capture *c, uint8_t kind, uint8_t flags,
		   struct dt_capture_pc pc, struct dt_captured *out)
{
	/* the hook reads two bytes from one byte after its return address on: they are aligned, for
	 * programs that have alignment checked (AC) */
	if (dt_emit_here(o) & 1)
		dt_emit_byte(o, 0x90);
	call(o, c->hook);
	pc.pc = dt_emit_here(o);
	if (out->pcs < DT_CAPTURE_PCS)
		out->pc[out->pcs++] = pc;
	dt_emit_byte(o, 0xa9); /* test $..., %eax */
	dt_emit_u32(o, (uint32_t)kind | (uint32_t)flags << 8);
}

/* Emits code that gets up to four items and makes one record of them. */
static void record_items(struct dt_emit *o, const struct dt_item *item, unsigned first, unsigned n,
			 const struct dt_capture *c, struct dt_captured *out)
{
	const struct dt_capture_pc pc = {.first = (uint8_t)first};
	uint8_t kind = first || c->headless ? DT_MORE : c->passing ? DT_ENTRY : DT_POINT;
	bool fails = false;
	size_t good, done;

	for (unsigned i = 0; i < n; i++)
		fails = fails || may_fail(&item[first + i], c);
	if (fails)
		dt_emit_bytes(o, "\x45\x31\xc0", 3); /* xor %r8d, %r8d */
	for (unsigned i = 0; i < n; i++) {
		get_item(o, &item[first + i], c);
		op_registers(o, 0x89, RAX, value_register[i]);
	}
	if (!fails) {
		record(o, c, kind, (uint8_t)n, pc, out);
		return;
	}
	dt_emit_bytes(o, "\x45\x85\xc0", 3); /* test %r8d, %r8d */
	good = jump_short(o, 0x74);
	record(o, c, kind, (uint8_t)(n | DT_FAULT), pc, out);
	done = jump_short(o, 0xeb);
	land_short(o, good);
	record(o, c, kind, (uint8_t)n, pc, out);
	land_short(o, done);
}

/*
 * Emits code that gets the bytes which a text has at most to %r9, and how it may be read to %r8,
 * which has that of the text before.
 */
static void get_bound(struct dt_emit *o, const struct dt_item *item, const struct dt_capture *c)
{
	size_t equal, much, within;

	dt_emit_bytes(o, "\x41\x83\xe0", 3); /* and $DT_TEXT_BAD, %r8d */
	dt_emit_byte(o, DT_TEXT_BAD);
	if (item->stack) {
		dt_emit_bytes(o, "\x41\x81\xc8", 3); /* or $..., %r8d */
		dt_emit_u32(o, DT_TEXT_BUFFER | DT_TEXT_HEAD | DT_TEXT_STACK);
		move_constant(o, R9, item->text);
		return;
	}
	if (item->stream) {
		dt_emit_bytes(o, "\x41\x81\xc8", 3); /* or $..., %r8d */
		dt_emit_u32(o, DT_TEXT_BUFFER | DT_TEXT_HEAD | DT_TEXT_STREAM |
				       (uint32_t)item->stream << DT_TEXT_LENGTH |
				       (uint32_t)item->stream_register << (DT_TEXT_LENGTH + 4));
		move_constant(o, R9, item->text);
		return;
	}
	dt_emit_bytes(o, "\x41\x83\xc8", 3); /* or $..., %r8d */
	dt_emit_byte(o, (uint8_t)(item->sure | (item->buffer   ? DT_TEXT_BUFFER | DT_TEXT_HEAD
						: item->bounds ? DT_TEXT_BOUND
							       : 0u)));
	if (item->sure && item->differ) {
		get_register(o, RCX, RDI, c);
		dt_emit_bytes(o, "\x48\x3b\x4c\x24\x18", 5); /* cmp 24(%rsp), %rcx: saved rsi */
		equal = jump_short(o, 0x75);
		dt_emit_bytes(o, "\x41\x83\xe0", 3); /* and $~DT_TEXT_SURE, %r8d */
		dt_emit_byte(o, (uint8_t)~DT_TEXT_SURE);
		land_short(o, equal);
	}
	if (!item->bounds) {
		move_constant(o, R9, item->text);
		return;
	}
	for (unsigned i = 0; i < item->bounds; i++) {
		unsigned to = i ? RCX : R9;

		get_register(o, to, item->bound[i].reg, c);
		if (item->bound[i].low) /* mov %ecx, %ecx; mov %r9d, %r9d */
			dt_emit_bytes(o, i ? "\x89\xc9" : "\x45\x89\xc9", i ? 2 : 3);
	}
	much = 0;
	if (item->bounds > 1) { /* imul %rcx, %r9; jo */
		dt_emit_bytes(o, "\x4c\x0f\xaf\xc9", 4);
		much = jump_short(o, 0x70);
	}
	if (item->buffer) { /* mov %r9, %rcx; shl $DT_TEXT_LENGTH, %rcx; or %rcx, %r8 */
		dt_emit_bytes(o, "\x4c\x89\xc9\x48\xc1\xe1", 6);
		dt_emit_byte(o, DT_TEXT_LENGTH);
		dt_emit_bytes(o, "\x49\x09\xc8", 3);
	}
	dt_emit_bytes(o, "\x49\x81\xf9", 3); /* cmp $text, %r9 */
	dt_emit_u32(o, item->text);
	within = jump_short(o, 0x72);
	if (much)
		land_short(o, much);
	move_constant(o, R9, item->text);
	if (!item->buffer) {
		dt_emit_bytes(o, "\x41\x83\xe0", 3); /* and $~DT_TEXT_BOUND, %r8d */
		dt_emit_byte(o, (uint8_t)~DT_TEXT_BOUND);
	}
	land_short(o, within);
}

/* Emits code that reads and records the next piece of a text. Afterwards rax is 0 if it has ended.
 */
static void record_piece(struct dt_emit *o, const struct dt_capture *c, struct dt_capture_pc pc,
			 struct dt_captured *out, size_t *same)
{
	size_t unreadable, done;

	call(o, c->text);
	unreadable = jump_short(o, 0x72);
	if (*same)
		dt_emit_land(o, *same);
	*same = 0;
	record(o, c, DT_MORE, 4, pc, out);
	done = jump_short(o, 0xeb);
	land_short(o, unreadable);
	record(o, c, DT_MORE, 4 | DT_FAULT, pc, out);
	land_short(o, done);
}

/* Is the item's text the second one of two that a function compares, of which the first one is the
 * item before? */
static bool is_second(const struct dt_item *item, unsigned index)
{
	const struct dt_item *first = index ? item - 1 : item;

	return index && item->differ && first->differ && !first->steps && !item->steps &&
	       first->text == item->text && first->buffer == item->buffer &&
	       first->bounds == item->bounds &&
	       memcmp(first->bound, item->bound, sizeof(item->bound)) == 0 &&
	       first->from.kind == DT_OPERAND_REGISTER && first->from.reg == RDI &&
	       item->from.kind == DT_OPERAND_REGISTER && item->from.reg == RSI;
}

/*
 * Emits a jump that is taken if the second text is the first one, which had a single piece: that is
 * in the registers still, and rax is 0. Of such a text nothing is sure, so it would be read by the
 * kernel.
 */
static size_t unless_same(struct dt_emit *o)
{
	size_t other, failed, same;

	op_frame(o, 0x8b, R9, 16);		     /* saved rdi */
	dt_emit_bytes(o, "\x4c\x3b\x4c\x24\x18", 5); /* cmp 24(%rsp), %r9: saved rsi */
	other = jump_short(o, 0x75);
	dt_emit_bytes(o, "\x41\xf7\xc0", 3); /* test $..., %r8d */
	dt_emit_u32(o, DT_TEXT_BAD | DT_TEXT_LONG);
	failed = jump_short(o, 0x75);
	dt_emit_byte(o, 0xe9);
	same = o->size;
	dt_emit_u32(o, 0);
	land_short(o, other);
	land_short(o, failed);
	return same;
}

/*
 * Emits code that records the text that an item points to, a record for each 32 bytes. The routine
 * `text' takes the address in rax, what is left of the bound in r9 and DT_TEXT_... in r8, fills
 * rdi, rsi, rdx and rcx, and leaves in rax the next address, or 0 when the text has ended or can
 * not be read any further. When not one byte can be read, it returns with the carry flag set, and
 * the record is marked with DT_FAULT. So each text has a record that ends it: one with a NUL, a
 * marked one, or the last one allowed.
 */
static void record_text(struct dt_emit *o, const struct dt_item *item, unsigned index,
			const struct dt_capture *c, struct dt_captured *out)
{
	struct dt_capture_pc pc = {.first = (uint8_t)index};
	size_t loop, ended = 0, same = is_second(item, index) ? unless_same(o) : 0;

	get_item(o, item, c);
	get_bound(o, item, c);
	if (item->buffer || item->stream) {
		pc.text = DT_CAPTURE_HEAD;
		record_piece(o, c, pc, out, &same);
		dt_emit_bytes(o, "\x48\x85\xc0\x0f\x84", 5); /* test %rax, %rax; je */
		ended = o->size;
		dt_emit_u32(o, 0);
	}
	pc.text = DT_CAPTURE_PIECE;
	loop = o->size;
	record_piece(o, c, pc, out, &same);
	dt_emit_bytes(o, "\x48\x85\xc0", 3); /* test %rax, %rax */
	dt_emit_byte(o, 0x75);
	dt_emit_byte(o, (uint8_t)(loop - o->size - 1));
	if (ended)
		dt_emit_land(o, ended);
}

/* Emits code that sets the flags as they were saved: those of arithmetic, and the direction. No
 * other has changed. popfq would do it, but takes the processor some 20 cycles. */
static void restore_flags(struct dt_emit *o)
{
	size_t forward;

	op_frame(o, 0x8b, RAX, 56);
	dt_emit_bytes(o, "\xf6\xc4\x04", 3); /* test $4, %ah: DF */
	forward = jump_short(o, 0x74);
	dt_emit_byte(o, 0xfd); /* std */
	land_short(o, forward);
	/* mov %eax, %ecx; shr $11, %ecx; and $1, %ecx; add $0x7f, %cl: overflows if OF was set */
	dt_emit_bytes(o, "\x89\xc1\xc1\xe9\x0b\x83\xe1\x01\x80\xc1\x7f", 11);
	dt_emit_bytes(o, "\x88\xc4\x9e", 3); /* mov %al, %ah; sahf */
}

void dt_capture_emit(struct dt_emit *o, const struct dt_item *item, unsigned n,
		     const struct dt_capture *c, struct dt_captured *out)
{
	/* pushfq; cld; push rax, rcx, rdx, rsi, rdi, r8, r9 */
	static const uint8_t begin[] = {0x9c, 0xfc, 0x50, 0x51, 0x52, 0x56,
					0x57, 0x41, 0x50, 0x41, 0x51};
	/* pop all of these but the flags */
	static const uint8_t end[] = {0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e, 0x5a, 0x59, 0x58};
	const uint32_t below = frame_of(c) - SAVED;
	unsigned values = 0;
	size_t past, other = 0, failed = 0, none = 0;

	while (values < n && !item[values].only_text)
		values++;
	out->pcs = 0;
	dt_emit_byte(o, 0xeb);
	out->toggle = dt_emit_here(o);
	dt_emit_byte(o, c->on ? DT_CAPTURE_ON : DT_CAPTURE_OFF);
	dt_emit_byte(o, 0xe9);
	past = o->size;
	dt_emit_u32(o, 0);
	op_frame(o, 0x8d, RSP, -below); /* lea -below(%rsp), %rsp */
	dt_emit_bytes(o, begin, sizeof(begin));
	if (c->crossing ||
	    c->passing) { /* the return address is behind these eight and the bytes below */
		op_frame(o, 0x8b, RAX, frame_of(c));
		call(o, c->crosses);
		dt_emit_bytes(o, c->passing ? "\x0f\x82" : "\x0f\x83", 2); /* jb, jae */
		other = o->size;
		dt_emit_u32(o, 0);
	}
	if (c->kept.tag && c->kept.entry) {
		keep(o, c);
	} else if (c->kept.tag) {
		if (c->kept.when)
			failed = unless_result(o, c->kept.when);
		get_kept(o, c);
		dt_emit_bytes(o, "\x0f\x85", 2); /* jne */
		none = o->size;
		dt_emit_u32(o, 0);
		record(o, c, DT_MORE, 0, (struct dt_capture_pc){.text = DT_CAPTURE_LEAVING}, out);
	}
	if (c->results) {
		if (c->results != (DT_RESULT_ANY | DT_RESULT_ANY << DT_RESULT_WIDE))
			failed = unless_results(o, c->results);
		record(o, c, DT_MORE, 0, (struct dt_capture_pc){.text = DT_CAPTURE_LEAVING}, out);
	}
	for (unsigned i = 0; i < values || (i == 0 && !c->headless); i += 4)
		record_items(o, item, i, values - i < 4 ? values - i : 4, c, out);
	if (n)
		dt_emit_bytes(o, "\x45\x31\xc0", 3); /* xor %r8d, %r8d */
	for (unsigned i = 0; i < n; i++)
		if (item[i].text)
			record_text(o, &item[i], i, c, out);
	if (failed)
		dt_emit_land(o, failed);
	if (c->kept.tag && !c->kept.entry) {
		forget_kept(o, c);
		dt_emit_land(o, none);
	}
	if (c->crossing || c->passing)
		dt_emit_land(o, other);
	restore_flags(o);
	dt_emit_bytes(o, end, sizeof(end));
	op_frame(o, 0x8d, RSP, below + 8);
	dt_emit_land(o, past);
}

#define FSGSBASE 2 /* in AT_HWCAP2 */

bool dt_capture_has_fsbase(void)
{
	return getauxval(AT_HWCAP2) & FSGSBASE;
}
