/* SPDX-License-Identifier: MIT */
/* Text, put together. */
#include "analyse/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "store/varint.h"

void dt_json_bytes(struct dt_json *t, const void *p, size_t n)
{
	if (t->failed || dt_bytes_room(&t->bytes, n)) {
		t->failed = true;
		return;
	}
	memcpy(t->bytes.p + t->bytes.n, p, n);
	t->bytes.n += n;
}

void dt_json_print(struct dt_json *t, const char *format, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		t->failed = true;
	else
		dt_json_bytes(t, line, (size_t)n);
}

/* Length of the UTF-8 character at s; 0: there is none. */
static size_t character(const unsigned char *s)
{
	size_t n = s[0] < 0x80                ? 1
		   : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		   : (s[0] & 0xf0) == 0xe0     ? 3
		   : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
					      : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* neither longer than need be, nor half of a pair, nor beyond the last */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

void dt_json_utf8(struct dt_json *t, const char *s, size_t n)
{
	for (size_t i = 0, length; i < n; i += length) {
		/* no more than there is */
		char next[5] = "";

		memcpy(next, s + i, n - i < 4 ? n - i : 4);
		length = *next ? character((const unsigned char *)next) : 0;
		dt_json_bytes(t, length ? s + i : "\xef\xbf\xbd", length ? length : 3);
		length += !length;
	}
}

void dt_json_string(struct dt_json *t, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	dt_json_bytes(t, "\"", 1);
	while (*s) {
		size_t n = character(s);

		if (!n) {
			dt_json_bytes(t, "\\ufffd", 6);
			n = 1;
		} else if (*s < 0x20 || *s == 0x7f) {
			dt_json_print(t, "\\u%04x", *s);
		} else if (*s == '"' || *s == '\\') {
			dt_json_print(t, "\\%c", *s);
		} else {
			dt_json_bytes(t, s, n);
		}
		s += n;
	}
	dt_json_bytes(t, "\"", 1);
}
