// SPDX-License-Identifier: MIT
/*
 * Adds sleds to the assembly text of a compiler. doc/sleds.md says what a sled is and what is
 * left alone.
 */
#ifndef INSTRUMENT_SLED_H
#define INSTRUMENT_SLED_H

#include <stdbool.h>
#include <stddef.h>

/* A growing byte string. */
struct text {
	char *data;
	size_t len, cap;
};

void text_add(struct text *t, const char *data, size_t len);

/* Whether the text was written by gcc or clang for 64-bit code, and not by hand. */
bool sled_is_compiled(const char *in, size_t len);

/*
 * Appends the text with sleds to `out` and returns the number of sites. `in` ends with a newline
 * and is followed by a zero byte. With a `name`, the assembler's messages name that file; the
 * numbers of the lines are those of `in` in any case.
 */
size_t sled_insert(const char *in, size_t len, const char *name, struct text *out);

#endif
