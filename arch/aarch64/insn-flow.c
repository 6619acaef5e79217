/* SPDX-License-Identifier: MIT */
/*
 * What instructions tell of addresses, and of the flow of control. An address takes two of them
 * (adrp, and an add of the rest), and a jump through a table some five, of which the last ones are
 * looked at: the compiler may have put others between. They are followed in the order of addresses,
 * up to what does not go on there, whatever else leads to them.
 */
#include "arch/insn.h"

/* How a register was set last. */
enum { BY_OTHERS, BY_PAGE, BY_SUM, BY_MEMORY, BY_INDEX, BY_ADDRESS };

#define ZERO 31u /* the register number that is no register where a value is set */

static void set(struct dt_insn_seen *s, uint32_t reg, uint8_t how)
{
	if (reg != ZERO)
		s->how[reg] = how;
}

/* Loads and stores: which of them set general registers, and how. */
static void by_access(struct dt_insn_seen *s, uint32_t w)
{
	uint32_t t = w & 31;

	if (w >> 26 & 1)
		return; /* vector registers */
	if ((w & 0xffc00000) == 0xf9400000 || (w & 0xffe00000) == 0xf8400000)
		set(s, t, BY_MEMORY);
	else if ((w & 0xffe00c00) == 0xf8600800)
		set(s, t, BY_INDEX);
	else if ((w & 0x3a000000) == 0x28000000 && w >> 22 & 1)
		set(s, t, BY_OTHERS), set(s, w >> 10 & 31, BY_OTHERS); /* ldp */
	else if ((w & 0x3b000000) == 0x18000000 || w >> 22 & 1 || w >> 23 & 1)
		set(s, t, BY_OTHERS);
}

/* Data processing. An add of the rest to a page is the address of both. */
static void by_processing(struct dt_insn_seen *s, struct dt_insn *in)
{
	uint32_t w = in->word, d = w & 31, n = w >> 5 & 31, m = w >> 16 & 31;

	if ((w & 0xffc00000) == 0x91000000 && n != ZERO && s->how[n] == BY_PAGE) {
		in->form = DT_INSN_ADR;
		in->relative = true;
		in->memory = s->page[n] + (w >> 10 & 0xfff);
		set(s, d, BY_ADDRESS);
		s->page[d] = in->memory;
	} else if ((w & 0xff200000) == 0x8b000000 || (w & 0xffe00000) == 0x8b200000) {
		set(s, d, BY_SUM);
	} else if ((w & 0xffe0ffe0) == 0xaa0003e0 && m != ZERO && d != ZERO) { /* mov */
		s->how[d] = s->how[m];
		s->page[d] = s->page[m];
	} else if ((w & 0xfffff000) != 0xdac11000) { /* not: autia and its like, in place */
		set(s, d, BY_OTHERS);
	}
}

/*
 * x16 and x17 are what tail calls go through where landing pads are enforced: a switch would have
 * to lead to a pad of another kind by them.
 */
static uint8_t looks(const struct dt_insn_seen *s, uint32_t reg)
{
	switch (s->how[reg]) {
	case BY_SUM:
		return DT_INSN_BY_DISTANCES;
	case BY_MEMORY:
		return DT_INSN_BY_MEMORY;
	case BY_INDEX:
		return DT_INSN_BY_INDEX;
	}
	return reg == 16 || reg == 17 ? DT_INSN_BY_MEMORY : DT_INSN_BY_REGISTER;
}

void dt_insn_follow(struct dt_insn_seen *s, struct dt_insn *in, const uint8_t *code)
{
	uint32_t w = in->word, d = w & 31;

	if (in->kind == DT_INSN_JUMP_INDIRECT)
		in->looks = looks(s, w >> 5 & 31);
	if (dt_insn_ends(in)) {
		*s = (struct dt_insn_seen){.how = {0}};
	} else if (dt_insn_calls(in)) {
		for (unsigned i = 0; i < ZERO; i++)
			if (DT_INSN_LOST >> i & 1)
				s->how[i] = BY_OTHERS;
	} else if (in->form == DT_INSN_ADRP && d != ZERO) {
		s->how[d] = BY_PAGE;
		s->page[d] = in->memory;
	} else if (in->form == DT_INSN_ADR && d != ZERO) {
		s->how[d] = BY_ADDRESS;
		s->page[d] = in->memory;
	} else if ((w & 0x0a000000) == 0x08000000) {
		by_access(s, w);
	} else if ((w & 0x1c000000) == 0x10000000 || (w & 0x0e000000) == 0x0a000000) {
		by_processing(s, in);
	}
}

bool dt_insn_makes_length(const struct dt_insn_seen *s, const struct dt_insn *in,
			  const uint8_t *code, uint64_t *from, uint64_t *to)
{
	uint32_t more = in->word >> 5 & 31, less = in->word >> 16 & 31;

	*from = s->page[less];
	*to = s->page[more];
	/* sub of two registers of 64 bits, not shifted */
	return (in->word & 0xffe0fc00) == 0xcb000000 && s->how[less] == BY_ADDRESS &&
	       s->how[more] == BY_ADDRESS;
}

enum dt_insn_looks dt_insn_looks(const struct dt_insn *jump, const struct dt_insn *before)
{
	return jump->looks;
}

bool dt_insn_makes_address(const struct dt_insn *in)
{
	return in->form == DT_INSN_ADR;
}

/* The last bits of a literal's load say what it loads: a word, two, a word with its sign; of vector
 * registers 4, 8 or 16 bytes. */
unsigned dt_insn_reads(const struct dt_insn *in)
{
	static const uint8_t whole[] = {4, 8, 4, 0}, vector[] = {4, 8, 16, 0};

	if (in->form != DT_INSN_LITERAL)
		return 0;
	return in->word >> 26 & 1 ? vector[in->word >> 30] : whole[in->word >> 30];
}

/* Addresses stand in no instruction as numbers, */
unsigned dt_insn_numbers(const struct dt_insn *in, const uint8_t *code, uint64_t number[2])
{
	return 0;
}

/* nor in the displacement of one. */
uint64_t dt_insn_absolute(const struct dt_insn *in)
{
	return 0;
}

/* Programs have nothing below the stack pointer (AAPCS64: a signal may come at any time). So what
 * a function may have there is not followed: none points into its frame for that purpose, */
bool dt_insn_points(const struct dt_insn *in)
{
	return false;
}

bool dt_insn_below_sp(const struct dt_insn *in)
{
	return false;
}

/* and where others ask nevertheless, the worst is said. */
void dt_insn_registers(const uint8_t *code, size_t size, dt_insn_set *written, dt_insn_set *read)
{
	*written = *read = ~(dt_insn_set)0;
}

dt_insn_set dt_insn_derive(const uint8_t *code, size_t size, dt_insn_set held, int64_t depth)
{
	return ~(dt_insn_set)0;
}

/* A byte tells nothing: each instruction has four. */
bool dt_insn_pads(uint8_t byte)
{
	return false;
}
