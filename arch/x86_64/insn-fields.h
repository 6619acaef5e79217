/* SPDX-License-Identifier: MIT */
/*
 * One x86-64 instruction, decoded by Zydis as far as it takes to move it and to find a function's
 * ways out. Operands are not decoded, since of most instructions only the length is needed. To be
 * included by arch/insn.h only.
 */
#ifndef DT_ARCH_X86_64_INSN_FIELDS_H
#define DT_ARCH_X86_64_INSN_FIELDS_H

#include "core/types.h"

#define DT_INSN_MAX 15 /* most bytes of an instruction */

/* A decoded instruction. Offsets are from its first byte. */
struct dt_insn {
	uint64_t address;
	uint64_t target;  /* of a direct transfer */
	uint64_t memory;  /* if relative: the address of that operand */
	int32_t disp;	  /* displacement of any memory operand */
	uint8_t length;	  /* bytes; 0: not decoded */
	uint8_t kind;	  /* enum dt_insn_kind */
	uint8_t opcode;	  /* without escape bytes */
	uint8_t map;	  /* ZydisOpcodeMap: 0 one-byte, 1 0f, ... */
	uint8_t encoding; /* ZydisInstructionEncoding */
	uint8_t prefixes; /* legacy prefixes and REX, bytes */
	uint8_t head;	  /* offset of REX or of the VEX, XOP or EVEX escape; 0xff: none of them */
	uint8_t modrm_at; /* offset of ModRM; 0: none */
	uint8_t modrm;
	uint8_t sib_at; /* offset of SIB; 0: none */
	uint8_t sib;
	uint8_t disp_at;   /* offset of the displacement; 0: none */
	uint8_t disp_size; /* bytes */
	uint8_t imm_at;	   /* offset of the first immediate or branch distance; 0: none */
	uint8_t imm_size;  /* bytes */
	bool relative;	   /* it has a rip-relative operand, at `memory' */
	bool wide;	   /* REX.W */
	bool base_ext;	   /* REX.B as the instruction means it: base register r8 to r15 */
	bool index_ext;	   /* REX.X */
	bool reg_ext;	   /* REX.R */
	bool data16;	   /* prefix 66 */
	bool addr32;	   /* prefix 67 */
	uint8_t segment;   /* prefix fs or gs (0x64, 0x65); 0: none */
};

/* What dt_insn_follow() has seen: of each register the address that was computed into it last, and
 * by which instruction (its address; 0: by none). */
struct dt_insn_seen {
	uint64_t made[16], at[16];
};

/* Return the numbers of the registers that ModRM names in rm and reg, with their extensions. For
 * arch/ only. */
static inline unsigned dt_insn_rm(const struct dt_insn *in)
{
	return (in->modrm & 7u) | (in->base_ext ? 8u : 0);
}

static inline unsigned dt_insn_reg(const struct dt_insn *in)
{
	return (in->modrm >> 3 & 7u) | (in->reg_ext ? 8u : 0);
}

/* Masks of general registers: bit n is register n as instructions number them. */
#define DT_INSN_SP	  (1 << 4)
#define DT_INSN_ARGUMENTS (1 << 7 | 1 << 6 | 1 << 2 | 1 << 1 | 1 << 8 | 1 << 9)
#define DT_INSN_LOST	  0x0fc7 /* all but the callee-saved ones: rbx, rsp, rbp, r12 to r15 */
#define DT_INSN_RESULT	  (1 << 0)

/* A set of registers: masks as above. */
typedef uint16_t dt_insn_set;

#endif
