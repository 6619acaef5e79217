/* SPDX-License-Identifier: MIT */
/* What a parsed signature consists of: for format.c and format-number.c only. */
#ifndef DT_SHOW_FORMAT_WORK_H
#define DT_SHOW_FORMAT_WORK_H

#include "show/format.h"

#define COPIED 16 /* bytes copied at once: each text has that much room after it */

enum type { SIGNED, UNSIGNED, BOOL, CHAR, POINTER, FLOAT, DOUBLE, WIDE, REST, UNKNOWN };

#define NOWHERE 0xff /* in `second': the value is in one register */

/* A value, and the text before it. */
struct dt_format_item {
	char piece[COPIED];	   /* the text before the value, or the beginning of that */
	uint32_t from, length;	   /* all of that text, in dt_call_format.text */
	uint8_t type, size, place; /* enum type; bytes; index into the record's values */
	uint8_t look;	/* type and size in one; 0: the text depends on more than the value */
	uint8_t second; /* for a value in two registers: index of its upper half; or NOWHERE */
	uint8_t when;	/* a parameter that is not always passed: dt_signature_passed() */
	uint32_t bits;
	uint32_t shape; /* the row of its type; 0: the type's letter says all */
};

/* Is the parameter passed in this call? The first one always counts as passed: its piece of text
 * has the function's name. */
static inline bool dt_format_passed(const struct dt_format_item *i, const uint64_t *value)
{
	return __builtin_expect(!i->bits, 1) || value[i->when] & i->bits;
}

#endif
