/* SPDX-License-Identifier: MIT */
/*
 * See relocate.h. Each instruction is rewritten on its own. The size of its copy depends only on
 * addresses known beforehand. So a first pass finds where each copy begins, and a second one can
 * write branches to instructions that are moved as well.
 */
/*
 * - rip-relative memory: the distance is corrected. Where 32 bits do not reach, lea becomes a mov
 *   of a constant, and anything else borrows a register that it does not use, which is saved below
 *   the red zone.
 * - jmp, jcc, xbegin: get a 32-bit distance; where that does not reach, they go through an address
 *   beside the jump (xbegin is refused).
 * - loop, jrcxz: become a short one over a jump.
 * - call: pushes the address that the original would have pushed, then jumps. So a stack walk never
 *   meets the copy. The price: the processor predicts that return wrongly, and with a shadow stack
 *   (CET) such a call must not be moved.
 * - branches to inside the stretch: lead to the copy of their target.
 * - anything else: stays as it is, syscall too. Only the kernel, and rcx, see the copy's address.
 *
 * Refused is what dt_insn_immovable() names, and what uses the stack pointer together with memory
 * out of reach. No copy can hide the address of a fault from a signal handler, nor the last x87
 * instruction's address in what fnstenv stores.
 */
#include "arch/relocate.h"

#include <string.h>
#include <Zydis/Zydis.h>

#include "arch/insn.h"

/* The state of one relocation. */
struct move {
	struct dt_emit *o;
	const uint8_t *code;
	uint64_t from, end; /* of the original */
	size_t start;	    /* of the copy in o */
	const struct dt_relocate_hook *hook, *hook_end;
	struct dt_moved *m;
	bool mapped; /* the second pass: m is complete */
	struct dt_error *e;
};

static const uint8_t down[] = {0x48, 0x8d, 0x64, 0x24, 0x80};	     /* lea -128(%rsp), %rsp */
static const uint8_t up[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0}; /* lea 128(%rsp), %rsp */

static int refuse(const struct move *v, const struct dt_insn *in, const char *why)
{
	return dt_fail(v->e, "the instruction at 0x%lx cannot be moved: %s",
		       (unsigned long)in->address, why);
}

static void u16(struct dt_emit *o, uint16_t x)
{
	dt_emit_bytes(o, &x, sizeof(x));
}

/* Changes *target to its copy, when it is moved too. -1: it is inside an instruction that is. */
static int map_target(const struct move *v, const struct dt_insn *in, uint64_t *target)
{
	uint64_t at = *target - v->from;

	if (*target < v->from || *target >= v->end)
		return 0;
	if (!v->mapped) {
		*target = v->o->address; /* within reach, as the real place is */
		return 0;
	}
	for (unsigned i = 0; i < v->m->n; i++)
		if (v->m->at[i].from == at) {
			*target = v->o->address + v->start + v->m->at[i].to;
			return 0;
		}
	return refuse(v, in, "it leads into the middle of one that is moved too");
}

/* Emits the hooks at that place of an instruction. */
static void hooks_at(const struct move *v, uint64_t address, enum dt_hook_place place)
{
	for (const struct dt_relocate_hook *h = v->hook; h < v->hook_end; h++)
		if (h->address == address && h->place == place)
			h->emit(v->o, h);
}

/* Looks whether there are any. */
static bool hooked(const struct move *v, uint64_t address, enum dt_hook_place place)
{
	for (const struct dt_relocate_hook *h = v->hook; h < v->hook_end; h++)
		if (h->address == address && h->place == place)
			return true;
	return false;
}

/*
 * Emits the push of the original's return address from eight bytes that push_end() writes later,
 * after what follows. They are aligned, for programs that have alignment checked (AC). Returns the
 * offset of the distance to them.
 */
static size_t push_begin(struct dt_emit *o)
{
	dt_emit_byte(o, 0xff); /* push d(%rip) */
	dt_emit_byte(o, 0x35);
	dt_emit_u32(o, 0);
	return o->size - 4;
}

static void push_end(struct dt_emit *o, size_t at, uint64_t value)
{
	while (dt_emit_here(o) & 7)
		dt_emit_byte(o, 0xcc);
	dt_emit_land(o, at);
	dt_emit_address(o, value);
}

static int move_branch(struct move *v, const struct dt_insn *in)
{
	struct dt_emit *o = v->o;
	uint8_t condition = in->opcode & 15;
	uint64_t target = in->target, next = dt_emit_here(o) + 6;
	bool taken = hooked(v, in->address, DT_HOOK_TAKEN);
	size_t skip;

	if (map_target(v, in, &target))
		return -1;
	if (!taken && dt_emit_reaches(next, target)) {
		dt_emit_byte(o, 0x0f);
		dt_emit_byte(o, 0x80 | condition);
		dt_emit_distance(o, next, target);
		return 0;
	}
	dt_emit_byte(o, 0x0f); /* the inverse condition, over a jump */
	dt_emit_byte(o, 0x80 | (condition ^ 1));
	dt_emit_u32(o, 0);
	skip = o->size - 4;
	hooks_at(v, in->address, DT_HOOK_TAKEN);
	dt_emit_jump(o, target);
	dt_emit_land(o, skip);
	return 0;
}

static int move_loop(struct move *v, const struct dt_insn *in)
{
	struct dt_emit *o = v->o;
	uint64_t target = in->target;
	size_t skip;

	if (map_target(v, in, &target))
		return -1;
	if (in->addr32)
		dt_emit_byte(o, 0x67);
	dt_emit_byte(o, in->opcode);
	dt_emit_byte(o, 5); /* over the next jump, which is taken when the loop does not branch */
	dt_emit_byte(o, 0xe9);
	dt_emit_u32(o, 0);
	skip = o->size - 4;
	hooks_at(v, in->address, DT_HOOK_TAKEN);
	dt_emit_jump(o, target);
	dt_emit_land(o, skip);
	return 0;
}

static int move_call(struct move *v, const struct dt_insn *in)
{
	uint64_t target = in->target;
	size_t push;

	if (map_target(v, in, &target))
		return -1;
	push = push_begin(v->o);
	dt_emit_jump(v->o, target);
	push_end(v->o, push, in->address + in->length);
	return 0;
}

/* Copies the instruction's bytes, giving a rip-relative operand its new distance. */
static int copy_near(struct move *v, const struct dt_insn *in, const uint8_t *code, unsigned length)
{
	uint64_t next = dt_emit_here(v->o) + length;
	uint8_t bytes[DT_INSN_MAX];
	uint32_t distance;

	memcpy(bytes, code, length);
	if (in->relative) {
		/* with prefix 67 the sum wraps at 32 bits: everything reaches */
		distance = (uint32_t)(in->memory - next);
		memcpy(bytes + in->disp_at, &distance, sizeof(distance));
		if (in->addr32)
			dt_emit_pin(v->o);
		else
			dt_emit_fix(v->o, v->o->size + in->disp_at, DT_FIX_DISTANCE, in->memory);
	}
	dt_emit_bytes(v->o, bytes, length);
	return 0;
}

/* Looks whether the rip-relative operand is within reach of a copy here. */
static bool rip_reaches(const struct move *v, const struct dt_insn *in)
{
	return in->addr32 || dt_emit_reaches(dt_emit_here(v->o) + in->length, in->memory);
}

/* Emits a 64-bit mov between rax and an absolute address; opcode 0xa1 loads, 0xa3 stores. */
static void mov_absolute(struct dt_emit *o, const struct dt_insn *in, uint8_t opcode)
{
	if (in->segment)
		dt_emit_byte(o, in->segment);
	dt_emit_byte(o, 0x48);
	dt_emit_byte(o, opcode);
	dt_emit_address(o, in->memory);
}

/*
 * Emits a jump through memory out of reach: loads the target to the stack, 136 bytes below, and
 * jumps there by a ret that restores the stack pointer. Without a register there is no other way.
 */
static void jump_far_memory(struct dt_emit *o, const struct dt_insn *in)
{
	static const uint8_t exchange[] = {0x48, 0x87, 0x04, 0x24, 0xc2, 0x80, 0};

	dt_emit_bytes(o, down, sizeof(down));
	dt_emit_byte(o, 0x50); /* push %rax */
	mov_absolute(o, in, 0xa1);
	dt_emit_bytes(o, exchange, sizeof(exchange)); /* xchg %rax, (%rsp); ret $128 */
}

static int move_jump_indirect(struct move *v, const struct dt_insn *in, const uint8_t *code)
{
	if (in->relative && !rip_reaches(v, in)) {
		jump_far_memory(v->o, in);
		return 0;
	}
	return copy_near(v, in, code, in->length);
}

/*
 * Emits another instruction of opcode ff (reg 4: jmp, 6: push) with the call's operand, which is
 * based on the stack pointer. `by' is added to its displacement, since the stack pointer is that
 * much lower there.
 */
static void with_stack_operand(struct dt_emit *o, const struct dt_insn *in, const uint8_t *code,
			       uint8_t reg, int32_t by)
{
	dt_emit_bytes(o, code, in->modrm_at);
	dt_emit_byte(o, (uint8_t)(0x80 | reg << 3 | 4)); /* a SIB and 32 bits of displacement */
	dt_emit_byte(o, in->sib);
	dt_emit_u32(o, (uint32_t)(in->disp + by));
}

/*
 * Emits a call through memory near the stack pointer. The operand must be read before the return
 * address is pushed over it, so the jump is a ret; where it surely lies above, a jmp will do.
 */
static int call_stack_operand(struct move *v, const struct dt_insn *in, const uint8_t *code)
{
	static const uint8_t room[] = {0x48, 0x8d, 0x64, 0x24, 0xf8}; /* lea -8(%rsp), %rsp */
	uint64_t back = in->address + in->length;
	bool indexed = (in->sib >> 3 & 7) != 4 || in->index_ext;
	struct dt_emit *o = v->o;
	size_t push;

	if (in->disp > INT32_MAX - 8 || in->addr32)
		return refuse(v, in, "an unusual operand of a call");
	if (!indexed && in->disp >= 0) {
		push = push_begin(o);
		with_stack_operand(o, in, code, 4, 8);
		push_end(o, push, back);
		return 0;
	}
	dt_emit_bytes(o, room, sizeof(room));
	with_stack_operand(o, in, code, 6, 8);
	dt_emit_bytes(o, "\xc7\x44\x24\x08", 4); /* movl $low, 8(%rsp) */
	dt_emit_fix(o, o->size, DT_FIX_HALVES, back);
	dt_emit_u32(o, (uint32_t)back);
	dt_emit_bytes(o, "\xc7\x44\x24\x0c", 4); /* movl $high, 12(%rsp) */
	dt_emit_u32(o, (uint32_t)(back >> 32));
	dt_emit_byte(o, 0xc3);
	return 0;
}

static int move_call_indirect(struct move *v, const struct dt_insn *in, const uint8_t *code)
{
	bool memory = in->modrm < 0xc0;
	uint8_t jump[DT_INSN_MAX];
	struct dt_emit *o = v->o;
	size_t push;

	if (!memory && (in->modrm & 7) == 4 && !in->base_ext)
		return refuse(v, in, "a call to where the stack pointer points");
	if (memory && in->sib_at && (in->sib & 7) == 4 && !in->base_ext)
		return call_stack_operand(v, in, code);
	push = push_begin(o);
	if (in->relative && !rip_reaches(v, in)) {
		jump_far_memory(o, in);
	} else {
		memcpy(jump, code, in->length);
		jump[in->modrm_at] = (uint8_t)((in->modrm & ~0x38) | 4 << 3);
		copy_near(v, in, jump, in->length);
	}
	push_end(o, push, in->address + in->length);
	return 0;
}

static bool is_stack(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_RSP || r == ZYDIS_REGISTER_ESP || r == ZYDIS_REGISTER_SP ||
	       r == ZYDIS_REGISTER_SPL;
}

/* Returns the mask of general registers that are used, by their number in encodings; bit 4: rsp. */
static uint32_t registers_used(const uint8_t *code, const struct dt_insn *in)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoder d;
	uint32_t used = 0;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, code, in->length, &z, op)))
		return ~0u;
	for (unsigned i = 0; i < z.operand_count; i++) {
		ZydisRegister r[3] = {ZYDIS_REGISTER_NONE};

		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			r[0] = op[i].reg.value;
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			r[1] = op[i].mem.base;
			r[2] = op[i].mem.index;
		}
		for (unsigned k = 0; k < 3; k++) {
			ZydisRegister whole =
				ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r[k]);

			if (is_stack(r[k]))
				used |= 1u << 4;
			else if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15)
				used |= 1u << ZydisRegisterGetId(whole);
		}
	}
	return used;
}

/* Emits an lea of an address out of reach, as the mov of a constant. */
static void move_far_lea(struct dt_emit *o, const struct dt_insn *in)
{
	uint8_t reg = in->modrm >> 3 & 7;

	if (in->wide) {
		dt_emit_byte(o, 0x48 | in->reg_ext);
	} else {
		if (in->data16)
			dt_emit_byte(o, 0x66);
		if (in->reg_ext)
			dt_emit_byte(o, 0x41);
	}
	dt_emit_byte(o, 0xb8 | reg);
	if (!in->wide)
		dt_emit_pin(o); /* a part of an address */
	if (in->wide)
		dt_emit_address(o, in->memory);
	else if (in->data16)
		u16(o, (uint16_t)in->memory);
	else
		dt_emit_u32(o, (uint32_t)in->memory);
}

/* Emit a push and a pop of memory out of reach, which also change the stack pointer. */
static int move_far_push(struct move *v, const struct dt_insn *in)
{
	static const uint8_t exchange[] = {0x48, 0x87, 0x04, 0x24}; /* xchg %rax, (%rsp) */

	if (in->data16)
		return refuse(v, in, "its memory is too far away");
	dt_emit_byte(v->o, 0x50);
	mov_absolute(v->o, in, 0xa1);
	dt_emit_bytes(v->o, exchange, sizeof(exchange));
	return 0;
}

static int move_far_pop(struct move *v, const struct dt_insn *in)
{
	static const uint8_t load[] = {0x48, 0x8b, 0x84, 0x24, 136, 0, 0, 0}; /* 136(%rsp), %rax */
	static const uint8_t leave[] = {0x58, 0x48, 0x8d, 0xa4, 0x24, 136, 0, 0, 0};
	struct dt_emit *o = v->o;

	if (in->data16)
		return refuse(v, in, "its memory is too far away");
	dt_emit_bytes(o, down, sizeof(down));
	dt_emit_byte(o, 0x50);
	dt_emit_bytes(o, load, sizeof(load));
	mov_absolute(o, in, 0xa3);
	dt_emit_bytes(o, leave, sizeof(leave)); /* pop %rax; lea 136(%rsp), %rsp */
	return 0;
}

/* Emits the instruction with the operand (%reg) instead of d(%rip). */
static int with_base(struct move *v, const struct dt_insn *in, const uint8_t *code, uint8_t reg)
{
	uint8_t bytes[DT_INSN_MAX];
	unsigned rest = in->disp_at + 4u;

	memcpy(bytes, code, in->length);
	bytes[in->modrm_at] = (uint8_t)((in->modrm & ~7) | reg);
	/* clears the extension of the base register, which had no meaning for d(%rip) */
	if (in->head == 0xff)
		;
	else if (in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
		 in->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		bytes[in->head] &= (uint8_t)~1;
	else if (bytes[in->head] != 0xc5)
		bytes[in->head + 1] |= 0x20;
	dt_emit_bytes(v->o, bytes, in->disp_at);
	dt_emit_bytes(v->o, bytes + rest, in->length - rest);
	return 0;
}

/* Emits an instruction whose rip-relative memory is out of reach. */
static int move_far_memory(struct move *v, const struct dt_insn *in, const uint8_t *code)
{
	static const uint8_t candidates[] = {0, 1, 2, 3, 6, 7}; /* rax rcx rdx rbx rsi rdi */
	bool legacy = in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && !in->map;
	struct dt_emit *o = v->o;
	uint32_t used;

	if (legacy && in->opcode == 0x8d) {
		move_far_lea(o, in);
		return 0;
	}
	if (legacy && in->opcode == 0xff && (in->modrm >> 3 & 7) == 6)
		return move_far_push(v, in);
	if (legacy && in->opcode == 0x8f && in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return move_far_pop(v, in);
	used = registers_used(code, in);
	if (used & 1u << 4)
		return refuse(v, in, "its memory is too far away, and it uses the stack pointer");
	for (unsigned i = 0; i < sizeof(candidates); i++) {
		uint8_t reg = candidates[i];

		if (used & 1u << reg)
			continue;
		dt_emit_bytes(o, down, sizeof(down));
		dt_emit_byte(o, 0x50 | reg); /* push */
		dt_emit_byte(o, 0x48);	     /* mov $memory, %reg */
		dt_emit_byte(o, 0xb8 | reg);
		dt_emit_address(o, in->memory);
		with_base(v, in, code, reg);
		dt_emit_byte(o, 0x58 | reg); /* pop */
		dt_emit_bytes(o, up, sizeof(up));
		return 0;
	}
	return refuse(v, in, "its memory is too far away");
}

static int move_xbegin(struct move *v, const struct dt_insn *in)
{
	uint64_t target = in->target, next = dt_emit_here(v->o) + 6;

	if (map_target(v, in, &target))
		return -1;
	if (!dt_emit_reaches(next, target))
		return refuse(v, in, "where it goes when aborted is too far away");
	dt_emit_byte(v->o, 0xc7);
	dt_emit_byte(v->o, 0xf8);
	dt_emit_distance(v->o, next, target);
	return 0;
}

static int move_one(struct move *v, const struct dt_insn *in, const uint8_t *code)
{
	const char *why = dt_insn_immovable(in);
	uint64_t target = in->target;

	if (why)
		return refuse(v, in, why);
	hooks_at(v, in->address, DT_HOOK_BEFORE);
	switch (in->kind) {
	case DT_INSN_JUMP:
		if (map_target(v, in, &target))
			return -1;
		dt_emit_jump(v->o, target);
		return 0;
	case DT_INSN_BRANCH:
		return move_branch(v, in);
	case DT_INSN_LOOP:
		return move_loop(v, in);
	case DT_INSN_CALL:
		return move_call(v, in);
	case DT_INSN_CALL_INDIRECT:
		return move_call_indirect(v, in, code);
	case DT_INSN_JUMP_INDIRECT:
		return move_jump_indirect(v, in, code);
	case DT_INSN_XBEGIN:
		return move_xbegin(v, in);
	default:
		if (in->relative && !rip_reaches(v, in))
			return move_far_memory(v, in, code);
		return copy_near(v, in, code, in->length);
	}
}

/* Goes through the stretch once; the second time (v->mapped) the places of the copies are known. */
static int pass(struct move *v, size_t size)
{
	struct dt_moved *m = v->m;
	struct dt_insn in;
	size_t at = 0;

	v->o->size = v->start;
	m->falls = true;
	for (m->n = v->mapped ? m->n : 0; at < size; at += in.length) {
		unsigned i = m->n;

		if (!dt_insn_decode(&in, v->code + at, size - at, v->from + at))
			return refuse(v, &in, "no instruction can be decoded there");
		if (!v->mapped) {
			if (i == DT_RELOCATE_MAX)
				return refuse(v, &in, "the stretch is too long");
			m->at[i].from = (uint32_t)at;
			m->at[i].to = (uint32_t)(v->o->size - v->start);
			m->n++;
		}
		if (move_one(v, &in, v->code + at))
			return -1;
		/* a call returns to the original, which is after the stretch if that is sound at
		 * all */
		m->falls = !dt_insn_ends(&in) && !dt_insn_calls(&in);
	}
	m->at[m->n].from = (uint32_t)at;
	m->at[m->n].to = (uint32_t)(v->o->size - v->start);
	return 0;
}

int dt_relocate(struct dt_emit *o, const uint8_t *code, size_t size, uint64_t from,
		const struct dt_relocate_hook *hook, size_t hooks, struct dt_moved *m,
		struct dt_error *e)
{
	struct move v = {.o = o,
			 .code = code,
			 .from = from,
			 .end = from + size,
			 .start = o->size,
			 .hook = hook,
			 .hook_end = hook + hooks,
			 .m = m,
			 .e = e};
	struct dt_fixes *fixes = o->fixes;
	int rc;

	o->fixes = NULL;
	rc = pass(&v, size);
	o->fixes = fixes;
	if (rc)
		return -1;
	v.mapped = true;
	return pass(&v, size);
}

/* Emits the push of a jump's target from memory out of reach: rax is pushed, loaded with the
 * target, and exchanged with what was pushed. */
static void push_far_memory(struct dt_emit *o, const struct dt_insn *in)
{
	static const uint8_t exchange[] = {0x48, 0x87, 0x04, 0x24};

	dt_emit_byte(o, 0x50);
	mov_absolute(o, in, 0xa1);
	dt_emit_bytes(o, exchange, sizeof(exchange));
}

int dt_relocate_push(struct dt_emit *o, const uint8_t *code, size_t size, uint64_t from)
{
	struct move v = {.o = o};
	uint8_t bytes[DT_INSN_MAX];
	struct dt_insn in;

	/* bnd and notrack have a meaning for jumps only */
	while (size && (*code == 0xf2 || *code == 0x3e)) {
		code++;
		size--;
		from++;
	}
	if (!dt_insn_decode(&in, code, size, from) || in.kind != DT_INSN_JUMP_INDIRECT ||
	    in.data16 || dt_insn_immovable(&in))
		return -1;
	if (in.relative && !rip_reaches(&v, &in)) {
		push_far_memory(o, &in);
		return 0;
	}
	/* jmp and push are one opcode, ff, with 4 and 6 in ModRM */
	memcpy(bytes, code, in.length);
	bytes[in.modrm_at] = (uint8_t)((in.modrm & 0xc7) | 6 << 3);
	return copy_near(&v, &in, bytes, in.length);
}
