/* SPDX-License-Identifier: MIT */
/* The bytes come from the traced process: what is not understood ends the stream. */
#include "show/stream.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stream.h"
#include "show/quoted.h"

/* A value of a stream. */
struct value {
	char letter;
	uint32_t n; /* its bytes */
	const unsigned char *bytes;
};

static uint64_t number_of(const struct value *v)
{
	uint64_t x = 0;

	for (uint32_t i = 0; i < v->n && i < 8; i++)
		x |= (uint64_t)v->bytes[i] << 8 * i;
	return x;
}

static bool is_integer(const struct value *v)
{
	return v->n == 1 || v->n == 2 || v->n == 4 || v->n == 8;
}

/* Reads the value at *p, and moves *p past it. */
static bool next(const char **p, const char *end, struct value *v)
{
	if (end - *p < 2)
		return false;
	v->letter = (*p)[0];
	v->n = (unsigned char)(*p)[1];
	v->bytes = (const unsigned char *)*p + 2;
	if (v->n > (size_t)(end - *p - 2))
		return false;
	*p += 2 + v->n;
	return true;
}

static void put_octal(struct dt_out *o, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), v ? "0%lo" : "%lo", (unsigned long)v);
	dt_out_text(o, text);
}

static void put_char(struct dt_out *o, uint64_t v)
{
	if (v < ' ' || v >= 127) {
		dt_out_signed(o, (int8_t)v);
		return;
	}
	dt_out_char(o, '\'');
	dt_out_char(o, (char)v);
	dt_out_char(o, '\'');
}

/* Writes a double by as few digits as say which one it is. */
static void put_double(struct dt_out *o, const struct value *v)
{
	char text[64];
	double d;

	memcpy(&d, v->bytes, sizeof(d));
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, d);
		if (d != d || strtod(text, NULL) == d)
			break;
	}
	dt_out_text(o, text);
}

static void put_long_double(struct dt_out *o, const struct value *v)
{
	char text[64] = "?";
#if LDBL_MANT_DIG == 64
	long double d = 0;

	memcpy(&d, v->bytes, 10);
	for (int digits = 6; digits <= 21; digits++) {
		snprintf(text, sizeof(text), "%.*Lg", digits, d);
		if (d != d || strtold(text, NULL) == d)
			break;
	}
#endif
	dt_out_text(o, text);
}

static int64_t signed_of(const struct value *v)
{
	unsigned shift = 64 - 8 * v->n;

	return (int64_t)(number_of(v) << shift) >> shift;
}

/* Writes a number. False: there is none of that size. */
static bool put_number(struct dt_out *o, const struct value *v)
{
	if (v->letter == DT_STREAM_FLOAT && v->n == 10) {
		put_long_double(o, v);
		return true;
	}
	if (!is_integer(v) || (v->letter == DT_STREAM_FLOAT && v->n != 8))
		return false;
	if (v->letter == DT_STREAM_SIGNED)
		dt_out_signed(o, signed_of(v));
	else if (v->letter == DT_STREAM_UNSIGNED)
		dt_out_decimal(o, number_of(v));
	else if (v->letter == DT_STREAM_OCTAL)
		put_octal(o, number_of(v));
	else if (v->letter == DT_STREAM_CHAR)
		put_char(o, number_of(v) & 0xff);
	else if (v->letter == DT_STREAM_FLOAT)
		put_double(o, v);
	else
		dt_out_hex(o, number_of(v));
	return true;
}

/* Writes a value; false: it is not understood. */
static bool put_value(struct dt_out *o, const struct value *v)
{
	switch (v->letter) {
	case DT_STREAM_TEXT:
	case DT_STREAM_CUT:
		dt_quoted_put(o, (const char *)v->bytes, v->n);
		if (v->letter == DT_STREAM_CUT)
			dt_out_text(o, "...");
		return true;
	case DT_STREAM_NULL:
		dt_out_text(o, "NULL");
		return true;
	case DT_STREAM_LOST:
		if (v->n)
			dt_out_hex(o, number_of(v));
		dt_out_char(o, '?');
		return true;
	case DT_STREAM_SIGNED:
	case DT_STREAM_UNSIGNED:
	case DT_STREAM_HEX:
	case DT_STREAM_OCTAL:
	case DT_STREAM_CHAR:
	case DT_STREAM_POINTER:
	case DT_STREAM_FLOAT:
		return put_number(o, v);
	default:
		return false;
	}
}

bool dt_stream_is(const char *described)
{
	return described && described[0] == 'g' && described[1] == ':';
}

void dt_stream_put(struct dt_out *o, const char *described, const char *bytes, uint32_t n,
		   bool whole)
{
	bool array = strncmp(described, "g:array", 7) == 0, ok = true;
	const char *p = bytes, *end = bytes + n;
	struct value v;

	if (array)
		dt_out_char(o, '[');
	while (p < end && ok) {
		dt_out_text(o, p > bytes ? ", " : "");
		ok = next(&p, end, &v);
		if (ok && v.letter == DT_STREAM_MORE && p == end) {
			dt_out_text(o, "... ");
			dt_out_decimal(o, number_of(&v));
			dt_out_text(o, " more");
			break;
		}
		ok = ok && put_value(o, &v);
		dt_out_text(o, ok ? "" : "...");
	}
	if (ok && !whole)
		dt_out_text(o, n ? ", ..." : "...");
	if (array)
		dt_out_char(o, ']');
}
