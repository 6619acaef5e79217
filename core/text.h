/* SPDX-License-Identifier: MIT */
/*
 * Records as lines of text. The 121-byte line is that of Plan 9's devtrace, to the byte:
 *
 *	E ffffffff8011aa68 000088297eecd2e7 000000000000023c A1 A2 A3 A4\n
 *
 * kind, pc, ticks, thread and four values, each as 16 hexadecimal digits. An X line holds the
 * return value and three zeros. No thread is all ones.
 */
#ifndef DT_CORE_TEXT_H
#define DT_CORE_TEXT_H

#include "core/record.h"

#define DT_LINE	     121 /* bytes of a record line, with its newline */
#define DT_LONG_LINE 512 /* enough for any long line without its names */

/* Writes exactly DT_LINE bytes. */
void dt_text_line(char *out, const struct dt_record *r);

/* Reads such a line back (without core, sp and flags, which it has not). False: it is none. */
bool dt_text_parse(const char *line, size_t n, struct dt_record *r);

/*
 * The self-describing line:
 *
 *	kind=E ticks=149 core=3 tid=572 pc=0x401136 sp=0x7ffd10 function=rtctime v0=0x7be v1=0x0\n
 *
 * function may be NULL. mask: which values are meant and written. Flags that are set follow as
 * flags=FREEZE,BASE. Returns the length; out has room for DT_LONG_LINE and twice the name.
 */
size_t dt_text_long(char *out, const struct dt_record *r, const char *function, unsigned mask);

/* Digits only, no terminator; return the length. They may write up to DT_DIGITS bytes always. */
#define DT_DIGITS 24
size_t dt_text_decimal(char *out, uint64_t v);
size_t dt_text_hex(char *out, uint64_t v);

#endif
