/* SPDX-License-Identifier: MIT */
#include "cmd/json-pieces.h"

#include <stdio.h>

#include "core/plain.h"

static char *put_quoted_character(char *p, const char *s, unsigned length, uint32_t c, bool unseen)
{
	if (!length)
		return stpcpy(p, "\\ufffd");
	if (unseen && c > 0xffff)
		return p + sprintf(p, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
				   0xdc00 + (c & 0x3ff));
	if (unseen)
		return p + sprintf(p, "\\u%04x", c);
	if (*s == '"' || *s == '\\')
		*p++ = '\\';
	memcpy(p, s, length);
	return p + length;
}

void dt_json_quote(struct dt_out *o, const char *s, size_t n)
{
	dt_out_char(o, '"');
	while (n) {
		size_t plain = 0;
		unsigned length;
		uint32_t c = 0;
		bool unseen = true;
		char *p;

		while (plain < n && s[plain] >= ' ' && s[plain] < 127 && s[plain] != '"' &&
		       s[plain] != '\\')
			plain++;
		dt_out_bytes(o, s, plain);
		s += plain;
		n -= plain;
		if (!n)
			break;
		length = *s ? dt_plain_character(s, n < 4 ? n : 4, &c, &unseen) : 1;
		p = dt_out_room(o, 32);
		dt_out_used(o, (size_t)(put_quoted_character(p, s, length, c, unseen) - p));
		s += length ? length : 1;
		n -= length ? length : 1;
	}
	dt_out_char(o, '"');
}

void dt_json_member(struct dt_out *o, const char *name, const char *s)
{
	dt_out_text(o, name);
	dt_json_quote(o, s, strlen(s));
}
