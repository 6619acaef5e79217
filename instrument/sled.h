// SPDX-License-Identifier: MIT
/*
 * Adding sleds to a compiler's assembly text. doc/sleds.md says what a sled is and which functions
 * get none.
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

/* Appends len bytes; without memory the program ends. */
void text_add(struct text *t, const char *data, size_t len);

/* Says whether the text was written by gcc or clang for 64-bit code, and not by hand. */
bool sled_is_compiled(const char *in, size_t len);

/*
 * Appends the text with sleds to `out` and returns the number of sites. `in` must end with a
 * newline, and a zero byte must follow it. If `name` is not NULL, the assembler's messages name
 * that file; line numbers in them are those of `in` in any case.
 */
size_t sled_insert(const char *in, size_t len, const char *name, struct text *out);

#endif
