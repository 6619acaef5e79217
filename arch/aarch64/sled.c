/* SPDX-License-Identifier: MIT */
/*
 * Sleds on aarch64 (doc/sleds.md): a nop at the entry, and before each instruction that leaves the
 * function. The word is switched between that and a branch to the site's stub. These two are among
 * the few instructions that may replace each other while other cores execute them (Arm Architecture
 * Reference Manual, B2.2.5, "Concurrent modification and execution of instructions").
 */
#include "arch/sled.h"

#include <string.h>

#include "arch/aarch64/blob.h"
#include "arch/aarch64/word.h"
#include "arch/insn.h"

#define NOP 0xd503201fu
#define B   0x14000000u
#define BL  0x94000000u
#define BR  0xd61f0000u /* br, retaa and their like: bits 9 to 5 are the register */

const uint8_t dt_sled_size[DT_ELF_KINDS] = {0, 4, 4, 4, 4};

bool dt_sled_toggle(enum dt_elf_kind kind, uint64_t at, uint64_t stub, struct dt_toggle *t)
{
	bool is = kind == DT_ELF_ENTRY || kind == DT_ELF_RETURN || kind == DT_ELF_TAIL ||
		  kind == DT_ELF_JUMP;
	uint32_t off = NOP, on = B | ((uint32_t)((stub - at) >> 2) & 0x3ffffff);

	if (!is || !stub || !dt_word_reaches(at, stub, DT_WORD_FAR))
		return false;
	*t = (struct dt_toggle){.size = 4};
	memcpy(t->off, &off, sizeof(off));
	memcpy(t->on, &on, sizeof(on));
	return true;
}

/* x16 is what the stub has saved. */
void dt_sled_way_emit(struct dt_emit *o, uint64_t hook)
{
	dt_emit_u32(o, 0x58000050); /* ldr x16, .+8 */
	dt_emit_u32(o, BR | 16 << 5);
	dt_emit_address(o, hook);
}

/*
 * stp x16, x30, [sp, #-16]!; bl way; ldp x16, x30, [sp], #16; b behind the site. In that of a jump
 * through a register, the jump's target is pushed, too: stp x16, x30, [sp, #-32]!; str target,
 * [sp, #16]; and the rest alike. Nothing else of the function's is touched: at an entry and an exit
 * x30 may be signed, and is kept as it is.
 */
void dt_sled_stub_emit(struct dt_emit *o, enum dt_elf_kind kind, uint64_t at, const uint8_t *behind,
		       uint64_t way)
{
	uint32_t word, frame = kind == DT_ELF_JUMP ? DT_STUB_FRAME_JUMP : DT_STUB_FRAME;
	uint32_t push = 0xa9807bf0 | (-frame / 8 & 0x7f) << 15, pop = 0xa8c07bf0 | frame / 8 << 15;

	memcpy(&word, behind, sizeof(word));
	dt_emit_u32(o, push);
	if (kind == DT_ELF_JUMP)
		dt_emit_u32(o, 0xf9000be0 | (word >> 5 & 31));
	dt_word_branch(o, BL, 0, DT_WORD_FAR, way);
	dt_emit_u32(o, pop);
	dt_word_branch(o, B, 0, DT_WORD_FAR, at + 4);
}

uint64_t dt_sled_check(const struct dt_sled_code *c, struct dt_elf_site *s)
{
	const uint8_t *p = c->at(c->ctx, s->address, 8);
	struct dt_insn nop, in;

	if (!p || s->address % 4 || !dt_insn_decode(&nop, p, 4, s->address) || nop.word != NOP ||
	    !dt_insn_decode(&in, p + 4, 4, s->address + 4))
		return 0;
	s->back = 4;
	switch (s->kind) {
	case DT_ELF_ENTRY:
		return s->address + 4;
	case DT_ELF_RETURN:
		return in.kind == DT_INSN_RETURN ? s->address + 4 : 0;
	case DT_ELF_TAIL:
		s->target = in.target;
		return in.kind == DT_INSN_JUMP ? s->address + 4 : 0;
	case DT_SLED_TABLE_JUMP:
		/* not braa and its like: the register is not all of its target */
		s->kind = DT_ELF_JUMP;
		return (in.word & 0xfffffc1f) == BR ? s->address + 4 : 0;
	}
	return 0;
}
