/* SPDX-License-Identifier: MIT */
#include "cmd/json-pieces.h"

#include "show/json.h"

void dt_json_quote(struct dt_out *o, const char *s, size_t n)
{
	dt_out_char(o, '"');
	while (n) {
		size_t plain = 0;
		unsigned length;
		char *p;

		while (plain < n && s[plain] >= ' ' && s[plain] < 127 && s[plain] != '"' &&
		       s[plain] != '\\')
			plain++;
		dt_out_bytes(o, s, plain);
		s += plain;
		n -= plain;
		if (!n)
			break;
		p = dt_out_room(o, DT_JSON_CHARACTER + 1); /* and sprintf()'s NUL */
		dt_out_used(o, (size_t)(dt_json_character(p, s, n, &length) - p));
		s += length;
		n -= length;
	}
	dt_out_char(o, '"');
}

void dt_json_member(struct dt_out *o, const char *name, const char *s)
{
	dt_out_text(o, name);
	dt_json_quote(o, s, strlen(s));
}
