/* SPDX-License-Identifier: MIT */
/* What of writing code depends on the processor. */
#include "arch/aarch64/word.h"
#include "arch/emit.h"

#define BRK 0xd4200000u

bool dt_word_reaches(uint64_t from, uint64_t to, unsigned bits)
{
	int64_t distance = (int64_t)(to - from), most = (int64_t)1 << (bits + 1);

	return !(distance & 3) && distance >= -most && distance < most;
}

void dt_word_branch(struct dt_emit *o, uint32_t word, unsigned at, unsigned bits, uint64_t to)
{
	uint32_t mask = ((1u << bits) - 1) << at;
	uint64_t words = (to - dt_emit_here(o)) >> 2;

	dt_emit_u32(o, (word & ~mask) | ((uint32_t)(words << at) & mask));
	dt_emit_pin(o);
}

void dt_word_address(struct dt_emit *o, unsigned reg, uint64_t address)
{
	uint32_t op = 0xd2800000; /* movz, then movk */

	for (unsigned i = 0; i < 4; i++) {
		uint32_t part = address >> (16 * i) & 0xffff;

		if (!part && !(i == 3 && op == 0xd2800000))
			continue;
		dt_emit_u32(o, op | i << 21 | part << 5 | reg);
		op = 0xf2800000;
	}
	dt_emit_pin(o);
}

void dt_emit_pad(struct dt_emit *o, unsigned n)
{
	while (o->size % n)
		dt_emit_u32(o, BRK);
}
