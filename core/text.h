/* SPDX-License-Identifier: MIT */
/*
 * Records as lines of text. The 121-byte line is that of Plan 9's devtrace, to the byte:
 *
 *	E ffffffff8011aa68 000088297eecd2e7 000000000000023c A1 A2 A3 A4\n
 *
 * kind, pc, ticks, thread and four values, each as 16 hexadecimal digits. An X line holds the
 * return value and three zeros. No thread is all ones. A kind that cannot be printed is '?'.
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
 * The other fixed layouts of Plan 9's devtrace. What each field has:
 *
 *	DT_LAYOUT_64      E pc16 ticks16 thread16 a16 a16 a16 a16              121 bytes
 *	DT_LAYOUT_64_CPU  E pc16 ticks16 thread8    core4 a16 a16 a16 a16      121 bytes
 *	DT_LAYOUT_32      E pc8 ticks16 thread8 a8 a8 a8                        64 bytes
 *	DT_LAYOUT_32_CPU  E pc8 ticks16 thread8 core4 a8 a8 a8                  69 bytes
 *
 * In a 64-bit line the thread's column holds its 8 digits, four spaces and the core, so that all
 * others stay where they are; in a 32-bit line the core is a field more. The shared ring is ffff.
 */
enum dt_layout { DT_LAYOUT_64, DT_LAYOUT_64_CPU, DT_LAYOUT_32, DT_LAYOUT_32_CPU };

/* Bytes of a line, with its newline. None has more than DT_LINE. */
size_t dt_layout_size(enum dt_layout layout);

/*
 * Writes exactly that many bytes. In the 32-bit layouts the pc and the values are cut to their low
 * 32 bits and the fourth value is left out; false: that cost something, a reader will not get back
 * what was recorded.
 */
bool dt_layout_line(char *out, enum dt_layout layout, const struct dt_record *r);

/* Reads one back, as far as the layout holds it. False: it is none. */
bool dt_layout_parse(const char *line, size_t n, enum dt_layout layout, struct dt_record *r);

/*
 * The self-describing line:
 *
 *	kind=E ticks=149 core=3 tid=572 pc=0x401136 sp=0x7ffd10 function=rtctime v0=0x7be v1=0x0\n
 *
 * function may be NULL. mask: which values are meant and written. Flags that are set follow as
 * flags=FREEZE,BASE. Returns the length; out has room for DT_LONG_LINE and twice the name.
 */
size_t dt_text_long(char *out, const struct dt_record *r, const char *function, unsigned mask);

/* A name as such a line has it, in quotes when it needs them: at most twice the name and 2. Returns
 * the end; no NUL. */
char *dt_text_name(char *out, const char *s);

/* A long line that was read back. What it does not say is 0, NULL. */
struct dt_long {
	struct dt_record record;
	unsigned mask;	      /* bit i set: it has a v<i> */
	const char *function; /* in the line, without its quotes, but still with its backslashes */
	size_t function_length;
};

/*
 * 1: a record. 0: a line of another kind than a record (LOSS, or whatever comes later), or a
 * comment (#): to be skipped. Keys that are not known are skipped, whatever their value, in quotes
 * too. -1: not such a line.
 */
int dt_text_parse_long(const char *line, size_t n, struct dt_long *l);

/* Reads up to 16 hexadecimal digits, lower case; returns how many there are at s, 0 for more. */
size_t dt_text_hex_parse(const char *s, size_t n, uint64_t *v);

/* Digits only, no terminator; return the length. They may write up to DT_DIGITS bytes always. */
#define DT_DIGITS 24
size_t dt_text_decimal(char *out, uint64_t v);
size_t dt_text_hex(char *out, uint64_t v);

/*
 * Numbers of rings (record.h), with blanks between, as a person calls them: "core 1, the shared
 * ring of user 1000". users: whose rings they are, by numbers with blanks between, first those
 * whose rings have the cores' own numbers; NULL: all are one's. Cut where out has no room.
 */
void dt_text_rings(char *out, size_t size, const char *numbers, unsigned cores, const char *users);

#endif
