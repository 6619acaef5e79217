/* SPDX-License-Identifier: MIT */
/* See stack.h. An instruction that is not handled here makes the registers of these two that it
 * writes unknown. */
#include "arch/stack.h"

#include "arch/insn.h"

#include <string.h>
#include <Zydis/Zydis.h>

#define RSP	 4
#define RBP	 5
#define FAR_AWAY (1 << 28) /* most bytes of a frame; farther away counts as unknown */

/* Returns the distance `from' changed by `by'. */
static int32_t moved(int32_t from, int64_t by)
{
	int64_t to = from + by;

	return from == DT_STACK_UNKNOWN || to > FAR_AWAY || to < -FAR_AWAY ? DT_STACK_UNKNOWN
									   : (int32_t)to;
}

static int64_t immediate(const struct dt_insn *in, const uint8_t *code)
{
	int32_t v = 0;

	if (in->imm_size == 1)
		return (int8_t)code[in->imm_at];
	if (in->imm_size == 4)
		memcpy(&v, code + in->imm_at, sizeof(v));
	return v;
}

/* Sets rsp or rbp, if the register is one of them. */
static void set(struct dt_stack *s, unsigned reg, int32_t to)
{
	if (reg == RSP)
		s->sp = to;
	if (reg == RBP)
		s->fp = to;
}

/* Returns what is known of a register. */
static int32_t value(const struct dt_stack *s, unsigned reg)
{
	return reg == RSP ? s->sp : reg == RBP ? s->fp : DT_STACK_UNKNOWN;
}

/* Returns what lea disp(%base), %reg puts into the register. */
static int32_t address(const struct dt_stack *s, const struct dt_insn *in)
{
	unsigned base = in->modrm & 7u;

	if (in->relative || in->modrm >> 6 == 3 || in->base_ext || in->addr32 || !in->wide)
		return DT_STACK_UNKNOWN;
	if (base == RSP) { /* there is a SIB */
		if ((in->sib >> 3 & 7) != RSP || in->index_ext)
			return DT_STACK_UNKNOWN;
		base = in->sib & 7u;
		if (base == RBP && in->modrm >> 6 == 0)
			return DT_STACK_UNKNOWN;
	}
	return moved(value(s, base), -(int64_t)in->disp);
}

/* Handles one-byte opcodes; false: it is not one of those that are handled. */
static bool step_known(struct dt_stack *s, const struct dt_insn *in, const uint8_t *code)
{
	bool plain = in->modrm >> 6 == 3 && in->wide;
	unsigned kind = in->modrm >> 3 & 7u;

	switch (in->opcode) {
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0x9c:
		s->sp = in->data16 ? DT_STACK_UNKNOWN : moved(s->sp, 8);
		return true;
	case 0x58 ... 0x5f:
		s->sp = in->data16 ? DT_STACK_UNKNOWN : moved(s->sp, -8);
		set(s, (in->opcode & 7u) | (in->base_ext ? 8u : 0), DT_STACK_UNKNOWN);
		return true;
	case 0x9d:
		s->sp = in->data16 ? DT_STACK_UNKNOWN : moved(s->sp, -8);
		return true;
	case 0x8f:
		s->sp = in->data16 ? DT_STACK_UNKNOWN : moved(s->sp, -8);
		if (in->modrm >> 6 == 3)
			set(s, dt_insn_rm(in), DT_STACK_UNKNOWN);
		return true;
	case 0xff:
		if (kind != 6)
			return false;
		s->sp = in->data16 ? DT_STACK_UNKNOWN : moved(s->sp, 8);
		return true;
	case 0xc9:
		s->sp = moved(s->fp, -8);
		s->fp = DT_STACK_UNKNOWN;
		return true;
	case 0x81:
	case 0x83:
		if (!plain || (kind != 0 && kind != 5))
			return false;
		set(s, dt_insn_rm(in),
		    moved(value(s, dt_insn_rm(in)),
			  kind == 5 ? immediate(in, code) : -immediate(in, code)));
		return true;
	case 0x89:
		if (!plain)
			return false;
		set(s, dt_insn_rm(in), value(s, dt_insn_reg(in)));
		return true;
	case 0x8b:
		if (!plain)
			return false;
		set(s, dt_insn_reg(in), value(s, dt_insn_rm(in)));
		return true;
	case 0x8d:
		set(s, dt_insn_reg(in), address(s, in));
		return true;
	}
	return false;
}

/* Looks whether an instruction can write rsp or rbp at all; most do not name them. */
static bool may_write(const struct dt_insn *in)
{
	if (in->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return in->map >= 2; /* of these encodings only BMI writes general registers */
	if (!in->modrm_at)
		return (in->opcode & 7) == RSP || (in->opcode & 7) == RBP || in->opcode == 0xc8;
	return (dt_insn_reg(in) & 6) == 4 || (in->modrm >> 6 == 3 && (in->modrm & 6) == 4);
}

void dt_stack_step(struct dt_stack *s, const struct dt_insn *in, const uint8_t *code)
{
	uint16_t written, read;

	if (dt_insn_direct(in) || in->kind == DT_INSN_NOP || in->kind == DT_INSN_ENDBR ||
	    in->kind == DT_INSN_CALL_INDIRECT)
		return;
	if (in->map == 0 && in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	    step_known(s, in, code))
		return;
	if (!may_write(in))
		return;
	dt_insn_registers(code, in->length, &written, &read);
	if (written & 1 << RSP || in->opcode == 0xc8)
		s->sp = DT_STACK_UNKNOWN;
	if (written & 1 << RBP || in->opcode == 0xc8)
		s->fp = DT_STACK_UNKNOWN;
}

bool dt_stack_merge(struct dt_stack *known, const struct dt_stack *more)
{
	struct dt_stack was = *known;

	if (known->sp != more->sp)
		known->sp = DT_STACK_UNKNOWN;
	if (known->fp != more->fp)
		known->fp = DT_STACK_UNKNOWN;
	return known->sp != was.sp || known->fp != was.fp;
}
