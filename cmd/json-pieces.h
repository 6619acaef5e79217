/* SPDX-License-Identifier: MIT */
/* Parts of JSON lines that are made by the million: written in place, without stdio. The functions
 * that take p write there and return the end; name is with all that stands before the value, like
 * ", \"id\": ". */
#ifndef DT_CMD_JSON_PIECES_H
#define DT_CMD_JSON_PIECES_H

#include "core/text.h"
#include "show/out.h"

/* Bytes that are written in place at once, at most: numbers and words. */
#define DT_JSON_PIECE 1024

static inline char *dt_json_decimal(char *p, const char *name, uint64_t v)
{
	p = stpcpy(p, name);
	return p + dt_text_decimal(p, v);
}

/* Writes a number, or null if it is not known. */
static inline char *dt_json_known(char *p, const char *name, uint64_t v, bool known)
{
	return known ? dt_json_decimal(p, name, v) : stpcpy(stpcpy(p, name), "null");
}

/* Writes a time of so many tenths of nanoseconds in nanoseconds. */
static inline char *dt_json_ns(char *p, const char *name, double tenths, bool known)
{
	uint64_t v = tenths > 0 ? (uint64_t)(tenths + 0.5) : 0;

	p = dt_json_known(p, name, v / 10, known);
	if (known) {
		*p++ = '.';
		*p++ = (char)('0' + v % 10);
	}
	return p;
}

/* Writes a string of n bytes with JSON's escapes; each byte that is not UTF-8 becomes U+FFFD. */
void dt_json_quote(struct dt_out *o, const char *s, size_t n);
/* Writes a member whose value is a string. */
void dt_json_member(struct dt_out *o, const char *name, const char *s);

#endif
