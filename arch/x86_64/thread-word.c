/* SPDX-License-Identifier: MIT */
#include "arch/thread-word.h"

#include <string.h>

static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
static const uint8_t load_slot[] = {0x48, 0x8b, 0x05};	   /* mov distance(%rip), %rax */
static const uint8_t load_constant[] = {0x48, 0xc7, 0xc0}; /* mov $offset, %rax */
static const uint8_t add_pointer[] = {0x64, 0x48, 0x03, 0x04, 0x25,
				      0,    0,	  0,	0,    0xc3}; /* add %fs:0, %rax; ret */
static const uint8_t load_pointer[] = {0x64, 0x48, 0x8b, 0x04, 0x25,
				       0,    0,	   0,	 0}; /* mov %fs:0, %rax */
static const uint8_t add_slot[] = {0x48, 0x03, 0x05};	     /* add distance(%rip), %rax */
static const uint8_t add_constant[] = {0x48, 0x05};	     /* add $offset, %rax */
static const uint8_t add_address[] = {0x48, 0x8d, 0x80};     /* lea offset(%rax), %rax */

/* Looks whether the code at *at is that, and moves *at behind it. */
static bool is(const uint8_t *code, unsigned *at, const uint8_t *that, unsigned n)
{
	if (*at + n > DT_THREAD_WORD_CODE || memcmp(code + *at, that, n) != 0)
		return false;
	*at += n;
	return true;
}

#define IS(that) is(code, &at, that, sizeof(that))

/* Reads the four bytes at *at as a signed number, and moves *at behind them. */
static int32_t number(const uint8_t *code, unsigned *at)
{
	int32_t v;

	memcpy(&v, code + *at, sizeof(v));
	*at += 4;
	return v;
}

int dt_thread_word(const uint8_t *code, uint64_t address, int64_t *offset, uint64_t *slot)
{
	static const uint8_t ret[] = {0xc3};
	unsigned at = 0;
	bool in_slot;
	int32_t v;

	IS(endbr);
	if (IS(load_pointer)) {
		in_slot = IS(add_slot);
		if (!in_slot && !IS(add_constant) && !IS(add_address))
			return 0;
		v = number(code, &at);
		*slot = address + at + (uint64_t)(int64_t)v;
		if (!IS(ret))
			return 0;
	} else {
		in_slot = IS(load_slot);
		if (!in_slot && !IS(load_constant))
			return 0;
		v = number(code, &at);
		*slot = address + at + (uint64_t)(int64_t)v;
		if (!IS(add_pointer))
			return 0;
	}
	*offset = v;
	return in_slot ? 2 : 1;
}
