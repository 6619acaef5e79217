/* SPDX-License-Identifier: MIT */
/* Putting text together. */
#include "show/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/plain.h"
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

void dt_json_utf8(struct dt_json *t, const char *s, size_t n)
{
	for (size_t i = 0, length; i < n; i += length) {
		uint32_t c;
		bool unseen;

		length = s[i] ? dt_plain_character(s + i, n - i, &c, &unseen) : 0;
		dt_json_bytes(t, length ? s + i : "\xef\xbf\xbd", length ? length : 3);
		length += !length;
	}
}

char *dt_json_character(char *to, const char *s, size_t n, unsigned *length)
{
	uint32_t c = 0;
	bool unseen = true;

	*length = *s ? dt_plain_character(s, n < 4 ? n : 4, &c, &unseen) : 1;
	if (!*length) {
		*length = 1;
		return stpcpy(to, "\\ufffd");
	}
	if (unseen && c > 0xffff)
		return to + sprintf(to, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
				    0xdc00 + (c & 0x3ff));
	if (unseen)
		return to + sprintf(to, "\\u%04x", c);
	if (*s == '"' || *s == '\\')
		*to++ = '\\';
	return mempcpy(to, s, *length);
}

void dt_json_string(struct dt_json *t, const char *s)
{
	dt_json_string_of(t, s, strlen(s));
}

void dt_json_string_of(struct dt_json *t, const char *s, size_t length)
{
	const char *end = s + length;

	dt_json_bytes(t, "\"", 1);
	while (s < end) {
		char text[DT_JSON_CHARACTER + 1]; /* and sprintf()'s NUL */
		unsigned n;
		char *p = dt_json_character(text, s, (size_t)(end - s), &n);

		dt_json_bytes(t, text, (size_t)(p - text));
		s += n;
	}
	dt_json_bytes(t, "\"", 1);
}
