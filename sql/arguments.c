/* SPDX-License-Identifier: MIT */
/* Values by their names. */
#include "sql/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/signature.h"

struct making {
	struct dt_json *t;
	unsigned n;
};

/* Returns whether the text is a number as in JSON: an integer of up to 64 bits, or a decimal
 * fraction. */
static bool is_number(const char *s, size_t n)
{
	size_t digits = 0, i = n && *s == '-', points = 0;

	for (; i < n; i++) {
		digits += s[i] >= '0' && s[i] <= '9';
		points += s[i] == '.';
		if ((s[i] < '0' || s[i] > '9') && s[i] != '.')
			return false;
	}
	return digits && digits <= 20 && points <= 1 && s[n - 1] != '.' && s[*s == '-'] != '.';
}

static void key(struct making *m, const char *name, size_t n)
{
	char number[16];

	dt_json_bytes(m->t, ",", m->n != 0);
	if (n) {
		dt_json_string_of(m->t, name, n);
	} else {
		snprintf(number, sizeof(number), "%u", m->n);
		dt_json_string(m->t, number);
	}
	dt_json_bytes(m->t, ":", 1);
	m->n++;
}

static unsigned hex(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Puts a text that dt_text_print() has quoted, without the quotes; what follows them (dots, if it
 * was cut) stays. */
static void unquoted(struct dt_json *t, const char *s, size_t n)
{
	char *out = malloc(n), *p = out;
	const char *end = s + n;

	if (!out) {
		t->failed = true;
		return;
	}
	for (s++; s < end && *s != '"'; s++) {
		if (*s == '\\' && s + 1 < end && *++s == 'n') {
			*p++ = '\n';
		} else if (*s == 'x' && s[-1] == '\\' && end - s > 2) {
			*p++ = (char)(hex(s[1]) << 4 | hex(s[2]));
			s += 2;
		} else {
			*p++ = *s;
		}
	}
	for (s++; s < end; s++)
		*p++ = *s;
	dt_json_string_of(t, out, (size_t)(p - out));
	free(out);
}

static void one(void *ctx, const char *name, size_t n, const char *text, size_t length)
{
	struct making *m = ctx;

	/* "..." stands for further arguments, which are not recorded */
	if (length == 3 && !memcmp(text, "...", 3))
		return;
	key(m, name, n);
	if (length == 1 && *text == '?')
		dt_json_bytes(m->t, "null", 4);
	else if (is_number(text, length))
		dt_json_bytes(m->t, text, length);
	else if (length > 1 && *text == '"')
		unquoted(m->t, text, length);
	else
		dt_json_string_of(m->t, text, length);
}

void dt_sql_arguments(struct dt_formats *f, struct dt_json *t, uint32_t function,
		      const uint64_t *value, bool faults)
{
	struct making m = {t, 0};

	t->bytes.n = 0;
	dt_json_bytes(t, "{", 1);
	dt_format_each(f, function, value, faults, one, &m);
	dt_json_bytes(t, "}", 1);
}

void dt_sql_call_arguments(struct dt_formats *f, struct dt_json *t, uint32_t function,
			   const uint64_t *argument, const struct dt_full *full)
{
	struct making m = {t, 0};

	t->bytes.n = 0;
	dt_json_bytes(t, "{", 1);
	dt_format_each_full(f, function, argument, full, one, &m);
	dt_json_bytes(t, "}", 1);
}

void dt_sql_text_argument(struct dt_formats *f, struct dt_json *t, uint32_t function,
			  const char *bytes, size_t n)
{
	const struct dt_function_info *info = dt_reader_function(f->reader, function);
	struct making m = {t, 0};
	struct dt_signature_value v = {.name = ""};

	t->bytes.n = 0;
	dt_json_bytes(t, "{", 1);
	if (info)
		dt_signature_parameter(info->signature, 0, &v);
	key(&m, v.name, v.name_length);
	dt_json_string_of(t, bytes, n);
	dt_json_bytes(t, "}", 1);
}

void dt_sql_put_value(sqlite3_context *to, const char *text, size_t n)
{
	if (!is_number(text, n))
		sqlite3_result_text64(to, text, n, SQLITE_TRANSIENT, SQLITE_UTF8);
	else if (memchr(text, '.', n))
		sqlite3_result_double(to, strtod(text, NULL));
	else if (*text == '-')
		sqlite3_result_int64(to, strtoll(text, NULL, 10));
	else
		sqlite3_result_int64(to, (int64_t)strtoull(text, NULL, 10));
}

void dt_sql_put_json(sqlite3_context *to, struct dt_json *t)
{
	if (t->failed)
		sqlite3_result_error_nomem(to);
	else
		sqlite3_result_text64(to, (const char *)t->bytes.p, t->bytes.n, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
}
