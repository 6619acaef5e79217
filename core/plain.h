/* SPDX-License-Identifier: MIT */
/*
 * Words of others (names in binaries and traces, arguments of programs) as one line of text that
 * does nothing to a terminal but stand there: what would end the line, move about, or turn the
 * direction of writing is shown as in C (\n, \t, \x1b, \u202e), and so is a byte that is no part of
 * a character of UTF-8. A backslash stays as it is.
 */
#ifndef DT_CORE_PLAIN_H
#define DT_CORE_PLAIN_H

#include "core/types.h"

/* The length of the character of UTF-8 at s, of n bytes that there are; 0: it is none. c: which
 * one. unseen: it does something else than stand there. */
unsigned dt_plain_character(const char *s, size_t n, uint32_t *c, bool *unseen);

/* How many bytes s is as such a text, without a NUL; written to out if that is not NULL. */
size_t dt_plain(char *out, const char *s, size_t n);

/* Is it one already? */
bool dt_plain_is(const char *s);

/* In place: what would have to be longer becomes a question mark. lines: ends of lines stay. */
void dt_plain_cut(char *s, bool lines);

#endif
