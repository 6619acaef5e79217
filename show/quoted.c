/* SPDX-License-Identifier: MIT */
#include "show/quoted.h"

#include "core/plain.h"

/* Writes each byte as \n or as \x and two digits, so that the text can be read back. */
static void escape(struct dt_out *o, const char *s, unsigned n)
{
	static const char digit[] = "0123456789abcdef";

	for (unsigned i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		dt_out_char(o, '\\');
		dt_out_char(o, c == '\n' ? 'n' : 'x');
		if (c == '\n')
			continue;
		dt_out_char(o, digit[c >> 4]);
		dt_out_char(o, digit[c & 15]);
	}
}

void dt_quoted_put(struct dt_out *o, const char *s, uint32_t n)
{
	dt_out_char(o, '"');
	for (uint32_t i = 0, length; i < n; i += length) {
		uint32_t c = 0;
		bool unseen = true;

		length = dt_plain_character(s + i, n - i, &c, &unseen);
		if (!length || unseen) {
			length += !length;
			escape(o, s + i, length);
			continue;
		}
		if (c == '"' || c == '\\')
			dt_out_char(o, '\\');
		dt_out_bytes(o, s + i, length);
	}
	dt_out_char(o, '"');
}
