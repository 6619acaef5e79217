/* SPDX-License-Identifier: MIT */
/* What of writing code depends on the processor. */
#include "arch/emit.h"

#include <string.h>

#include "arch/aarch64/word.h"

#define BRK 0xd4200000u

bool dt_word_reaches(uint64_t from, uint64_t to, unsigned bits)
{
	int64_t distance = (int64_t)(to - from), most = (int64_t)1 << (bits + 1);

	return !(distance & 3) && distance >= -most && distance < most;
}

uint64_t dt_word_target(uint64_t from, uint32_t word, unsigned at, unsigned bits)
{
	return from + 4 * (uint64_t)((int64_t)((uint64_t)word << (64 - at - bits)) >> (64 - bits));
}

/* Returns the branch, with a distance that leads from `from' to `to'. */
static uint32_t aimed(uint32_t word, unsigned at, unsigned bits, uint64_t from, uint64_t to)
{
	uint32_t mask = ((1u << bits) - 1) << at;

	return (word & ~mask) | ((uint32_t)((to - from) >> 2 << at) & mask);
}

void dt_word_branch(struct dt_emit *o, uint32_t word, unsigned at, unsigned bits, uint64_t to)
{
	dt_emit_fix(o, o->size, DT_FIX_DISTANCE, to);
	dt_emit_u32(o, aimed(word, at, bits, dt_emit_here(o), to));
}

/* User space has addresses of 48 bits. Three movs for each of these, also where fewer would do, so
 * that the address can be changed later. */
void dt_word_address(struct dt_emit *o, unsigned reg, uint64_t address)
{
	unsigned movs = address >> 48 ? 4 : 3;

	if (movs == 3)
		dt_emit_fix(o, o->size, DT_FIX_MOVS, address);
	else
		dt_emit_pin(o);
	for (unsigned i = 0; i < movs; i++) {
		uint32_t part = address >> (16 * i) & 0xffff, op = i ? 0xf2800000 : 0xd2800000;

		dt_emit_u32(o, op | i << 21 | part << 5 | reg); /* movz, then movk */
	}
}

/* The distance of a branch of any kind, or of a load from a literal. */
static bool fix_distance(uint8_t *bytes, uint64_t by)
{
	unsigned at = 5, bits = DT_WORD_COMPARE;
	uint64_t to;
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	if ((word & 0x7c000000) == 0x14000000)
		at = 0, bits = DT_WORD_FAR;
	else if ((word & 0x7e000000) == 0x36000000)
		bits = DT_WORD_TEST;
	to = dt_word_target(0, word, at, bits) + by;
	word = aimed(word, at, bits, 0, to);
	memcpy(bytes, &word, sizeof(word));
	return dt_word_reaches(0, to, bits);
}

static bool fix_movs(uint8_t *bytes, uint64_t by)
{
	uint64_t address = 0;
	uint32_t word[3];

	memcpy(word, bytes, sizeof(word));
	for (unsigned i = 0; i < 3; i++)
		address |= (uint64_t)(word[i] >> 5 & 0xffff) << (16 * i);
	address += by;
	for (unsigned i = 0; i < 3; i++)
		word[i] = (word[i] & ~(0xffffu << 5)) | (uint32_t)(address >> (16 * i) & 0xffff)
								<< 5;
	memcpy(bytes, word, sizeof(word));
	return !(address >> 48);
}

bool dt_fix_apply(const struct dt_fix *f, uint8_t *bytes, uint64_t here, uint64_t there)
{
	uint64_t address;

	switch (f->kind) {
	case DT_FIX_DISTANCE:
		return fix_distance(bytes + f->at, there - here);
	case DT_FIX_MOVS:
		return fix_movs(bytes + f->at, there);
	case DT_FIX_ADDRESS:
		memcpy(&address, bytes + f->at, sizeof(address));
		address += there;
		memcpy(bytes + f->at, &address, sizeof(address));
		return true;
	}
	return false;
}

void dt_emit_pad(struct dt_emit *o, unsigned n)
{
	while (o->size % n)
		dt_emit_u32(o, BRK);
}
