/* SPDX-License-Identifier: MIT */
/*
 * Shows untrusted text (names in binaries and traces, arguments of programs) as one line that can
 * not control a terminal. Characters that would end the line, move the cursor, or turn the
 * direction of writing are written as in C (\n, \t, \x1b, \u202e), and so is a byte that is not
 * part of a UTF-8 character. A backslash stays as it is.
 */
#ifndef DT_CORE_PLAIN_H
#define DT_CORE_PLAIN_H

#include "core/types.h"

/* Returns the length of the UTF-8 character at s, which has n bytes left, or 0 if there is none. c:
 * its code point. unseen: it is not simply visible (a control character, for example). */
unsigned dt_plain_character(const char *s, size_t n, uint32_t *c, bool *unseen);

/*
 * Returns how many bytes the n bytes of s take as such a text, without a NUL, and writes them to
 * out if that is not NULL.
 */
size_t dt_plain(char *out, const char *s, size_t n);

/* Is s such a text already? */
bool dt_plain_is(const char *s);

/*
 * Makes s such a text in place, with a question mark for what would become longer. lines: newlines
 * stay.
 */
void dt_plain_cut(char *s, bool lines);

#endif
