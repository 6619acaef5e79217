/* SPDX-License-Identifier: MIT */
/*
 * Decoding A64. Words that are of no group below are plain: they do the same wherever they are. The
 * groups are those of the Arm Architecture Reference Manual, C4.1 (DDI 0487).
 */
#include "arch/insn.h"

#include <string.h>

#define NOP	0xd503201fu
#define PACIASP 0xd503233fu
#define PACIBSP 0xd503237fu

/* Returns the number of `bits' bits from bit `at' on, as a signed one. */
static int64_t field(uint32_t word, unsigned at, unsigned bits)
{
	return (int64_t)((uint64_t)word << (64 - at - bits)) >> (64 - bits);
}

static void leads(struct dt_insn *in, enum dt_insn_kind kind, int64_t words)
{
	in->kind = (uint8_t)kind;
	in->target = in->address + 4 * (uint64_t)words;
}

static void uses(struct dt_insn *in, enum dt_insn_form form, uint64_t memory)
{
	in->form = (uint8_t)form;
	in->relative = true;
	in->memory = memory;
}

/* Branches through a register: bits 24 to 21 say which, 15 to 10 and 4 to 0 how its address is
 * authenticated. What is not allocated traps. */
static void by_register(struct dt_insn *in)
{
	uint32_t w = in->word, op = w >> 21 & 15, how = w >> 10 & 63, low = w & 31, n = w >> 5 & 31;
	bool plain = how == 0 && low == 0, authenticated = (how & ~1u) == 2;

	in->kind = DT_INSN_TRAP;
	if ((w >> 16 & 31) != 31)
		return;
	switch (op) {
	case 0:
	case 1:
		if (plain || (authenticated && low == 31))
			in->kind = op ? DT_INSN_CALL_INDIRECT : DT_INSN_JUMP_INDIRECT;
		break;
	case 2:
		if (plain || (authenticated && low == 31 && n == 31))
			in->kind = DT_INSN_RETURN;
		break;
	case 4:
		if (n == 31 && (plain || (authenticated && low == 31)))
			in->kind = DT_INSN_FAR;
		break;
	case 5:
		if (n == 31 && plain)
			in->kind = DT_INSN_FAR;
		break;
	case 8:
	case 9:
		if (authenticated)
			in->kind = op == 8 ? DT_INSN_JUMP_INDIRECT : DT_INSN_CALL_INDIRECT;
		break;
	}
}

/* svc goes on; all else of its group is there to trap, or is not for programs. */
static void exception(struct dt_insn *in)
{
	in->kind = (in->word & 0xffe0001f) == 0xd4000001 ? DT_INSN_SYSCALL : DT_INSN_TRAP;
}

/* Hints: bits 11 to 5 say which. */
static void hint(struct dt_insn *in)
{
	if (in->word == NOP)
		in->kind = DT_INSN_NOP;
	else if ((in->word & 0xffffff3f) == 0xd503241f)
		in->kind = DT_INSN_ENDBR; /* bti, bti c, bti j, bti jc */
	in->pad = (in->kind == DT_INSN_ENDBR && (in->word & 0x40)) || in->word == PACIASP ||
		  in->word == PACIBSP;
}

/* Loads and stores of the group of exclusives, but for those that are one access: cas, casp, ldar,
 * stlr and their like. */
static bool is_exclusive(uint32_t w)
{
	bool ordered = w >> 23 & 1, pair = w >> 21 & 1, wide = w >> 31;

	return (w & 0x3f000000) == 0x08000000 && !ordered && (!pair || wide);
}

static void plain_group(struct dt_insn *in)
{
	uint32_t w = in->word;
	int64_t page = field(w, 5, 19) * 4 + (w >> 29 & 3);

	if ((w & 0x9f000000) == 0x10000000)
		uses(in, DT_INSN_ADR, in->address + (uint64_t)page);
	else if ((w & 0x9f000000) == 0x90000000)
		uses(in, DT_INSN_ADRP, (in->address & ~0xfffull) + ((uint64_t)page << 12));
	else if ((w & 0x3b000000) == 0x18000000 && (w & 0xc4000000) != 0xc4000000)
		uses(in, DT_INSN_LITERAL, in->address + 4 * (uint64_t)field(w, 5, 19));
	else if (is_exclusive(w))
		in->form = DT_INSN_EXCLUSIVE;
	else if ((w & 0xfffff01f) == 0xd503201f)
		hint(in);
	else if (!(w >> 16))
		in->kind = DT_INSN_TRAP; /* udf */
}

unsigned dt_insn_decode(struct dt_insn *in, const uint8_t *code, size_t size, uint64_t address)
{
	uint32_t w;

	*in = (struct dt_insn){.address = address};
	if (size < 4 || address & 3)
		return 0;
	memcpy(&w, code, 4);
	in->word = w;
	in->length = 4;
	if ((w & 0x7c000000) == 0x14000000)
		leads(in, w >> 31 ? DT_INSN_CALL : DT_INSN_JUMP, field(w, 0, 26));
	else if ((w & 0xff000000) == 0x54000000)
		leads(in, DT_INSN_BRANCH, field(w, 5, 19)); /* b.cond, bc.cond */
	else if ((w & 0x7e000000) == 0x34000000)
		leads(in, DT_INSN_BRANCH, field(w, 5, 19)); /* cbz, cbnz */
	else if ((w & 0x7e000000) == 0x36000000)
		leads(in, DT_INSN_BRANCH, field(w, 5, 14)); /* tbz, tbnz */
	else if ((w & 0xfe000000) == 0xd6000000)
		by_register(in);
	else if ((w & 0xff000000) == 0xd4000000)
		exception(in);
	else if ((w & 0xfc000000) == 0x54000000 || (w & 0x7c000000) == 0x74000000)
		in->form = DT_INSN_NOT_KNOWN; /* newer processors compare and branch by some of
						 these */
	else
		plain_group(in);
	return in->length;
}

bool dt_insn_is_padding(const struct dt_insn *in)
{
	return in->kind == DT_INSN_NOP || !(in->word >> 16);
}

bool dt_insn_is_prefix(const struct dt_insn *in, uint64_t n)
{
	return false; /* there are none */
}

const char *dt_insn_immovable(const struct dt_insn *in)
{
	if (in->kind == DT_INSN_TRAP)
		return "the instruction is there to trap";
	if (in->kind == DT_INSN_FAR)
		return "the instruction may change the processor's mode";
	if (in->form == DT_INSN_EXCLUSIVE)
		return "the instruction is one of a pair that nothing may come between";
	if (in->form == DT_INSN_NOT_KNOWN)
		return "the instruction may lead elsewhere, and is not known";
	return NULL;
}
