/* SPDX-License-Identifier: MIT */
/*
 * See arch/relocate.h. Beyond what the original does, a copy changes no register and no flag, and
 * of memory at most the 16 bytes below the stack pointer, where programs have nothing on aarch64.
 *
 * - adr, adrp: become movs of the address, which is exact at any distance.
 * - a load from a literal: the register that it loads is first set to the address; a vector
 * register is loaded through x16, which is saved below the stack pointer meanwhile. A prefetch is
 * left out.
 * - b: gets another distance; where 26 bits do not reach, it is refused. b.cond, cbz, tbz: the
 * same, or the inverse one over a b.
 * - bl, blr: x30 is set to the address that the original would have left, and a branch follows. So
 *   that return is predicted wrongly. br in the place of blr arrives at `bti c' all the same: from
 *   pages that are not guarded, as trampolines are, it counts as a call.
 * - branches to inside the stretch lead to the copy of their target.
 *
 * Each instruction is rewritten on its own. The first pass finds where each copy begins; until then
 * branches to inside are taken to lead to where the stretch is copied, and have the same size.
 */
#include "arch/relocate.h"

#include "arch/aarch64/word.h"
#include "arch/insn.h"

#define B      0x14000000u
#define BR     0xd61f0000u
#define NOP    0xd503201fu
#define PUSH   0xf81f0ff0u /* str x16, [sp, #-16]! */
#define POP    0xf84107f0u /* ldr x16, [sp], #16 */
#define LINK   30u
#define BORROW 16u

struct move {
	struct dt_emit *o;
	uint64_t from, end, to; /* the stretch, and where its copy begins */
	const struct dt_relocate_hook *hook, *hook_end;
	struct dt_moved *m;
	bool mapped; /* m has been filled by the first pass */
	struct dt_error *e;
};

static bool is_inside(const struct move *v, uint64_t address)
{
	return address >= v->from && address < v->end;
}

/* Where what led to `address' leads in the copy. */
static uint64_t lead(const struct move *v, uint64_t address)
{
	if (!is_inside(v, address))
		return address;
	return v->to + (v->mapped ? v->m->at[(address - v->from) / 4].to : 0);
}

static int refuse(const struct move *v, const struct dt_insn *in, const char *why)
{
	return dt_fail(v->e, "the instruction at 0x%llx can not be moved: %s",
		       (unsigned long long)in->address, why);
}

static void hooks(struct move *v, uint64_t address, enum dt_hook_place place)
{
	for (const struct dt_relocate_hook *h = v->hook; h < v->hook_end; h++)
		if (h->address == address && h->place == place)
			h->emit(v->o, h);
}

static bool has_taken(const struct move *v, uint64_t address)
{
	for (const struct dt_relocate_hook *h = v->hook; h < v->hook_end; h++)
		if (h->address == address && h->place == DT_HOOK_TAKEN)
			return true;
	return false;
}

static int move_jump(struct move *v, const struct dt_insn *in)
{
	uint64_t to = lead(v, in->target);

	if (!dt_word_reaches(dt_emit_here(v->o), to, DT_WORD_FAR))
		return refuse(v, in, "where it leads is more than 128 MiB from its copy");
	dt_word_branch(v->o, B, 0, DT_WORD_FAR, to);
	return 0;
}

/* The inverse of a condition: of b.cond it is bit 0, of cbz and tbz bit 24. The lowest bit of al
 * and nv, which both always hold, means nothing. */
static uint32_t inverse(uint32_t w)
{
	return w >> 24 == 0x54 ? w ^ 1 : w ^ 1u << 24;
}

static bool is_always(uint32_t w)
{
	return w >> 24 == 0x54 && (w & 14) == 14;
}

static int move_branch(struct move *v, const struct dt_insn *in)
{
	unsigned bits = (in->word & 0x7e000000) == 0x36000000 ? DT_WORD_TEST : DT_WORD_COMPARE;
	uint64_t to = lead(v, in->target);
	size_t over;

	if (is_always(in->word)) {
		hooks(v, in->address, DT_HOOK_TAKEN);
		return move_jump(v, in);
	}
	/* inside the stretch its distance is small, whichever pass it is */
	if (!has_taken(v, in->address) &&
	    (is_inside(v, in->target) || dt_word_reaches(dt_emit_here(v->o), to, bits))) {
		dt_word_branch(v->o, in->word, 5, bits, to);
		return 0;
	}
	over = v->o->size;
	dt_emit_u32(v->o, 0);
	hooks(v, in->address, DT_HOOK_TAKEN);
	if (move_jump(v, in))
		return -1;
	if (over + 4 <= v->o->room) {
		struct dt_emit at = {
			.bytes = v->o->bytes + over, .room = 4, .address = v->o->address + over};

		dt_word_branch(&at, inverse(in->word), 5, bits, dt_emit_here(v->o));
	}
	return 0;
}

/* A call through a register is a jump through it with another bit; x30 must have been read before
 * it is set. */
static int move_call_indirect(struct move *v, const struct dt_insn *in)
{
	uint32_t by = in->word >> 5 & 31, key = in->word >> 11 & 1 ? in->word & 31 : 0;

	if (by == LINK || key == LINK)
		return refuse(v, in, "it calls through x30, which has to be set before");
	dt_word_address(v->o, LINK, in->address + 4);
	dt_emit_u32(v->o, in->word & ~(1u << 21));
	return 0;
}

static void move_literal(struct move *v, const struct dt_insn *in)
{
	uint32_t reg = in->word & 31, op = in->word >> 30, at = reg << 5 | reg;
	/* ldr w, x, ldrsw; ldr s, d, q: from the address in a register */
	static const uint32_t whole[] = {0xb9400000, 0xf9400000, 0xb9800000};
	static const uint32_t vector[] = {0xbd400000, 0xfd400000, 0x3dc00000};

	if (in->word >> 26 & 1) {
		dt_emit_u32(v->o, PUSH);
		dt_word_address(v->o, BORROW, in->memory);
		dt_emit_u32(v->o, vector[op] | BORROW << 5 | reg);
		dt_emit_u32(v->o, POP);
	} else if (op == 3 || reg == 31) {
		dt_emit_u32(v->o, NOP);
	} else {
		dt_word_address(v->o, reg, in->memory);
		dt_emit_u32(v->o, whole[op] | at);
	}
}

static int move_plain(struct move *v, const struct dt_insn *in)
{
	uint32_t reg = in->word & 31;

	if (in->form == DT_INSN_LITERAL)
		move_literal(v, in);
	else if (in->relative && reg == 31)
		dt_emit_u32(v->o, NOP);
	else if (in->relative)
		dt_word_address(v->o, reg, in->memory);
	else
		dt_emit_u32(v->o, in->word);
	return 0;
}

static int move_one(struct move *v, const struct dt_insn *in)
{
	const char *why = dt_insn_immovable(in);

	if (why)
		return refuse(v, in, why);
	switch (in->kind) {
	case DT_INSN_JUMP:
		return move_jump(v, in);
	case DT_INSN_BRANCH:
		return move_branch(v, in);
	case DT_INSN_CALL:
		dt_word_address(v->o, LINK, in->address + 4);
		return move_jump(v, in);
	case DT_INSN_CALL_INDIRECT:
		return move_call_indirect(v, in);
	}
	return move_plain(v, in);
}

static int pass(struct move *v, const uint8_t *code, size_t size)
{
	struct dt_moved *m = v->m;
	size_t start = (size_t)(v->to - v->o->address);
	struct dt_insn in = {.kind = DT_INSN_PLAIN};

	v->o->size = start;
	m->n = 0;
	for (size_t at = 0; at < size; at += 4) {
		if (m->n == DT_RELOCATE_MAX ||
		    !dt_insn_decode(&in, code + at, size - at, v->from + at))
			return dt_fail(v->e, "the stretch at 0x%llx is no code that can be moved",
				       (unsigned long long)v->from);
		m->at[m->n++] = (struct dt_moved_at){(uint32_t)at, (uint32_t)(v->o->size - start)};
		hooks(v, in.address, DT_HOOK_BEFORE);
		if (move_one(v, &in))
			return -1;
	}
	m->at[m->n] = (struct dt_moved_at){(uint32_t)size, (uint32_t)(v->o->size - start)};
	/* a call returns to the original */
	m->falls = !dt_insn_ends(&in) && !dt_insn_calls(&in);
	return 0;
}

int dt_relocate(struct dt_emit *o, const uint8_t *code, size_t size, uint64_t from,
		const struct dt_relocate_hook *hook, size_t hooks, struct dt_moved *m,
		struct dt_error *e)
{
	struct move v = {.o = o,
			 .from = from,
			 .end = from + size,
			 .to = dt_emit_here(o),
			 .hook = hook,
			 .hook_end = hook + hooks,
			 .m = m,
			 .e = e};
	struct dt_fixes *fixes = o->fixes;
	int rc;

	/* what is noted of the first pass would be noted twice */
	o->fixes = NULL;
	rc = pass(&v, code, size);
	o->fixes = fixes;
	v.mapped = true;
	return rc ? rc : pass(&v, code, size);
}

/* Of a plain br only: what braa and its like jump to is not all of the register. */
int dt_relocate_push(struct dt_emit *o, const uint8_t *code, size_t size, uint64_t from)
{
	struct dt_insn in;

	if (!dt_insn_decode(&in, code, size, from) || (in.word & 0xfffffc1f) != BR ||
	    (in.word >> 5 & 31) == 31)
		return -1;
	dt_emit_u32(o, 0xf81f0fe0 | (in.word >> 5 & 31)); /* str x, [sp, #-16]! */
	return 0;
}
