/* SPDX-License-Identifier: MIT */
/*
 * Writes the digits of a line's fields fast, as lines are written by the million, and without a C
 * library.
 */
#ifndef DT_CORE_DIGITS_H
#define DT_CORE_DIGITS_H

#include "core/types.h"

/* Returns the eight hexadecimal digits of v in one 64-bit word, one byte per digit. */
static inline uint64_t dt_digits(uint32_t v)
{
	uint64_t x = v, above9;

	x = (x | x << 16) & 0x0000ffff0000ffff;
	x = (x | x << 8) & 0x00ff00ff00ff00ff;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
	above9 = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	x += 0x3030303030303030 + above9 * ('a' - '0' - 10);
	return __builtin_bswap64(x);
}

/* Returns the character of a record's kind, '?' if it can not be printed. */
static inline char dt_letter(uint8_t kind)
{
	return kind > ' ' && kind <= '~' ? (char)kind : '?';
}

/* Writes a space and 16 hexadecimal digits; returns the end. */
static inline char *dt_field(char *out, uint64_t v)
{
	uint64_t high = dt_digits((uint32_t)(v >> 32)), low = dt_digits((uint32_t)v);

	out[0] = ' ';
	__builtin_memcpy(out + 1, &high, 8);
	__builtin_memcpy(out + 9, &low, 8);
	return out + 17;
}

#endif
