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
#define DT_LONG_LINE 512 /* bytes enough for any long line, without its names */

/* Writes exactly DT_LINE bytes. */
void dt_text_line(char *out, const struct dt_record *r);

/*
 * Reads such a line back, all but core, sp and flags, which are not in it; what an exit's line has
 * behind the result is left out. Returns false if it is not such a line.
 */
bool dt_text_parse(const char *line, size_t n, struct dt_record *r);

/*
 * The other fixed layouts of Plan 9's devtrace. A number after a field's name is how many digits it
 * has:
 *
 *	DT_LAYOUT_64      E pc16 ticks16 thread16 a16 a16 a16 a16              121 bytes
 *	DT_LAYOUT_64_CPU  E pc16 ticks16 thread8    core4 a16 a16 a16 a16      121 bytes
 *	DT_LAYOUT_32      E pc8 ticks16 thread8 a8 a8 a8                        64 bytes
 *	DT_LAYOUT_32_CPU  E pc8 ticks16 thread8 core4 a8 a8 a8                  69 bytes
 *
 * In a 64-bit line the thread's column holds its 8 digits, four spaces and the core, so that all
 * other columns stay where they are; in a 32-bit line the core is an additional field. The shared
 * ring is core ffff.
 */
enum dt_layout { DT_LAYOUT_64, DT_LAYOUT_64_CPU, DT_LAYOUT_32, DT_LAYOUT_32_CPU };

/* Returns the bytes of a line, with its newline. No layout has more than DT_LINE. */
size_t dt_layout_size(enum dt_layout layout);

/*
 * Writes exactly dt_layout_size() bytes. In the 32-bit layouts the pc and the values are cut to
 * their low 32 bits, and the fourth value is left out. Returns false if a reader will therefore not
 * get back what was recorded.
 */
bool dt_layout_line(char *out, enum dt_layout layout, const struct dt_record *r);

/*
 * Reads a line of that layout back, as far as the layout holds the record; of an exit, only the
 * result. Returns false if it is not such a line.
 */
bool dt_layout_parse(const char *line, size_t n, enum dt_layout layout, struct dt_record *r);

/*
 * The self-describing line:
 *
 *	kind=E ticks=149 core=3 tid=572 pc=0x401136 sp=0x7ffd10 function=rtctime v0=0x7be v1=0x0\n
 *
 * function may be NULL. Bit i of mask is set if value i is to be written. Flags that are set follow
 * as flags=FREEZE,BASE. Returns the length; out has room for DT_LONG_LINE and twice the name.
 */
size_t dt_text_long(char *out, const struct dt_record *r, const char *function, unsigned mask);

/* Writes a name as such a line has it, in quotes if it needs them, so that it takes at most twice
 * its length plus 2. Returns the end; writes no NUL. */
char *dt_text_name(char *out, const char *s);

/* A long line that was read back. What the line does not contain is 0 or NULL. */
struct dt_long {
	struct dt_record record;
	unsigned mask;	      /* bit i set: it has a v<i> */
	const char *function; /* points into the line: without its quotes, but still with its
				 backslashes */
	size_t function_length;
};

/*
 * Reads a long line. Returns 1 for a record; 0 for a line that is to be skipped, which is another
 * kind of line (LOSS, or one of a later version) or a comment (#); -1 if it is not such a line.
 * Unknown keys are skipped whatever their value, in quotes or not.
 */
int dt_text_parse_long(const char *line, size_t n, struct dt_long *l);

/*
 * Reads up to 16 hexadecimal digits in lower case. Returns how many there are at s, 0 if there are
 * more than 16.
 */
size_t dt_text_hex_parse(const char *s, size_t n, uint64_t *v);

/*
 * Write digits only, without a NUL, and return their number. Both may write DT_DIGITS bytes however
 * few the digits are.
 */
#define DT_DIGITS 24
size_t dt_text_decimal(char *out, uint64_t v);
size_t dt_text_hex(char *out, uint64_t v);

/*
 * Writes, for a person to read, which rings the numbers (record.h, in text, separated by blanks)
 * name: "core 1, the shared ring of user 1000". users: the user ids whose rings they are, separated
 * by blanks, beginning with the user whose rings have the numbers of the cores; NULL: all rings are
 * one user's. The text is cut if out has no room.
 */
void dt_text_rings(char *out, size_t size, const char *numbers, unsigned cores, const char *users);

#endif
