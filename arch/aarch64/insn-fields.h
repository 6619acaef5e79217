/* SPDX-License-Identifier: MIT */
/*
 * One instruction of aarch64 (A64), decoded as far as it takes to move it and to find a function's
 * ways out. To be included by arch/insn.h only.
 */
#ifndef DT_ARCH_AARCH64_INSN_FIELDS_H
#define DT_ARCH_AARCH64_INSN_FIELDS_H

#include "core/types.h"

#define DT_INSN_MAX 4 /* bytes of an instruction */

/* How an instruction depends on where it is. */
enum dt_insn_form {
	DT_INSN_ANYWHERE,
	DT_INSN_ADR,	   /* the address `memory' */
	DT_INSN_ADRP,	   /* the page `memory' */
	DT_INSN_LITERAL,   /* loads from `memory' */
	DT_INSN_EXCLUSIVE, /* ldxr, stxr and their like: nothing may be done between them */
	DT_INSN_NOT_KNOWN, /* of a group that leads elsewhere, but none that is known */
};

/* A decoded instruction. */
struct dt_insn {
	uint64_t address;
	uint64_t target; /* of a direct transfer */
	uint64_t memory; /* if relative: the address of that operand */
	uint32_t word;	 /* the instruction */
	int32_t disp;	 /* always 0: what is relative to registers is not decoded */
	uint8_t length;	 /* 4; 0: not decoded */
	uint8_t kind;	 /* enum dt_insn_kind */
	uint8_t form;	 /* enum dt_insn_form */
	bool relative;	 /* it uses the address `memory' */
	uint8_t looks;	 /* of a jump through a register: enum dt_insn_looks; dt_insn_follow() */
	bool pad;	 /* an indirect call may arrive here: bti c, bti jc, paciasp, pacibsp */
};

/* What dt_insn_follow() knows of each register: how it was set last, and if it holds a page's
 * address (adrp), or one that was made of it (add), that one. */
struct dt_insn_seen {
	uint64_t page[32];
	uint8_t how[32]; /* see insn-flow.c */
};

/* Sets of registers: bit n is register n as instructions number them; 31: the stack pointer. */
#define DT_INSN_SP	  (1u << 31)
#define DT_INSN_ARGUMENTS 0xffu
#define DT_INSN_LOST	  0x4007ffffu /* x0 to x18, x30 */
#define DT_INSN_RESULT	  1u

typedef uint32_t dt_insn_set;

#endif
