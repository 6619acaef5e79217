/* SPDX-License-Identifier: MIT */
/* Reads what a signature says of a function's parameters and result. */
#include "core/signature.h"

#define LARGEST 16 /* bytes of a value, at most: those of two places */

/* Returns the first place in p of any of the characters of `ends', or the end of p. */
static const char *find(const char *p, const char *ends)
{
	for (; *p; p++)
		for (const char *e = ends; *e; e++)
			if (*p == *e)
				return p;
	return p;
}

static const char *find_in(const char *p, const char *end, char c)
{
	while (p < end && *p != c)
		p++;
	return p;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Reads the decimal number at *p, which ends before end and must be at most max; moves *p to after
 * it.
 */
static bool take_number(const char **p, const char *end, uint64_t max, uint64_t *v)
{
	const char *from = *p;

	for (*v = 0; *p < end && is_digit(**p) && *v <= max; (*p)++)
		*v = 10 * *v + (uint64_t)(**p - '0');
	return *p > from && *v <= max;
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Returns the bytes of a type without a number; 0 if it must have one. */
static uint8_t plain_size(char letter)
{
	switch (letter) {
	case 'i':
	case 'u':
	case 'e':
	case 'f':
		return 0;
	case 'b':
	case 'c':
		return 1;
	default:
		return 8;
	}
}

bool dt_signature_type(const char *s, size_t n, struct dt_signature_type *t)
{
	const char *p = s, *end = s + n;
	uint64_t v;

	*t = (struct dt_signature_type){0};
	if (p == end || ((*p < 'a' || *p > 'z') && (*p < 'A' || *p > 'Z')))
		return false;
	t->letter = *p++;
	t->size = plain_size(t->letter);
	/* a letter of a later version may have a size too */
	if (p < end && is_digit(*p)) {
		if (!take_number(&p, end, LARGEST, &v) || !v)
			goto wrong;
		t->size = (uint8_t)v;
	}
	if (!t->size)
		goto wrong;
	if (t->letter == 'v')
		t->size = 0;
	if (p == end)
		return true;
	if (*p++ != '#' || p == end)
		goto wrong;
	t->keyed = true;
	s = p;
	if (take_number(&p, end, UINT32_MAX, &v) && p == end)
		t->row = (uint32_t)v;
	for (p = s; p < end; p++)
		if (!is_hex(*p))
			goto wrong;
	return true;
wrong:
	*t = (struct dt_signature_type){0};
	return false;
}

static bool take_place(const char **p, const char *end, struct dt_signature_place *place)
{
	uint64_t v;

	place->kind = DT_PLACE_VALUE;
	if (*p < end && (**p == 'x' || **p == 'm' || **p == '*')) {
		place->kind = **p == 'x'   ? DT_PLACE_VECTOR
			      : **p == 'm' ? DT_PLACE_MEMORY
					   : DT_PLACE_POINTED;
		(*p)++;
	}
	if (!take_number(p, end, UINT16_MAX, &v))
		return false;
	place->n = (uint16_t)v;
	return true;
}

/* Reads places: "0", "0+1", "-". */
static void read_places(const char *p, const char *end, struct dt_signature_value *v)
{
	if (!take_place(&p, end, &v->place[0]))
		return;
	if (p == end)
		v->places = 1;
	else if (*p++ == '+' && take_place(&p, end, &v->place[1]) && p == end)
		v->places = 2;
}

/*
 * Reads what stands behind the '!' of a result: "-@3", "+/100/101", "e", "0@3+". If any of it is
 * not understood, nothing is known of failures.
 */
static void read_failure(const char *p, const char *end, struct dt_failure *f)
{
	struct dt_failure read = {0};
	struct dt_signature_place place;
	uint64_t v;

	if (p == end || *p == '/' || *p == '@')
		return;
	read.when = *p++;
	while (p < end && *p == '/' && read.others < DT_FAILURE_OTHERS) {
		bool negative = ++p < end && *p == '-';

		p += negative;
		if (!take_number(&p, end, INT32_MAX, &v))
			return;
		read.other[read.others++] = negative ? -(int32_t)v : (int32_t)v;
	}
	if (p < end && *p == '@') {
		p++;
		if (!take_place(&p, end, &place) || place.kind != DT_PLACE_VALUE || place.n > 3)
			return;
		read.has_error = true;
		read.error = (uint8_t)place.n;
		read.needs_error = p < end && *p == '+';
		p += read.needs_error;
	}
	if (p == end)
		*f = read;
}

/* Reads "type@place". */
static void read_typed(const char *p, const char *end, struct dt_signature_value *v)
{
	const char *at = find_in(p, end, '@');

	v->typed = p;
	v->typed_length = at - p < UINT16_MAX ? (uint16_t)(at - p) : 0;
	if (dt_signature_type(p, (size_t)(at - p), &v->type) && at < end)
		read_places(at + 1, end, v);
}

/* Reads what stands behind the '?' of a parameter: "1&4194368". What is not understood is no
 * condition. */
static void read_when(const char *p, const char *end, struct dt_signature_value *v)
{
	struct dt_signature_place place;
	uint64_t bits;

	if (!take_place(&p, end, &place) || place.kind != DT_PLACE_VALUE || place.n > 3 ||
	    p == end || *p++ != '&' || !take_number(&p, end, UINT32_MAX, &bits) || p != end)
		return;
	v->when = (uint8_t)place.n;
	v->when_bits = bits;
}

/*
 * Reads what stands behind the '!' of a parameter: "a", "F2", "n1x2", "n2of4", "p1", "t". If any of
 * it is not understood, nothing is known.
 */
static void read_reads(const char *p, const char *end, struct dt_signature_reads *r)
{
	struct dt_signature_reads read = {0};
	uint64_t v;

	if (p == end || *find("faFAnpt", (const char[]){*p, '\0'}) != *p)
		return;
	read.differ = *p == 'F' || *p == 'A';
	read.sure = *p == 'F' ? 'f' : *p == 'A' ? 'a' : *p;
	for (p++; p < end && read.bounds < 2; p += p < end && *p == 'x') {
		if (!take_number(&p, end, 5, &v))
			return;
		read.bound[read.bounds].n = (uint8_t)v;
		if (end - p >= 3 && p[0] == 'o' && p[1] == 'f' && p[2] == '4') {
			read.bound[read.bounds].low = true;
			p += 3;
		}
		read.bounds++;
	}
	if (p == end && (read.sure != 'p' || read.bounds == 1))
		*r = read;
}

bool dt_signature_known(const char *signature)
{
	return *find(signature, ";") != '\0';
}

bool dt_signature_next(const char **p, struct dt_signature_value *v)
{
	const char *s = *p, *end = find(s, ",;"), *colon = find_in(s, end, ':');
	const char *when = find_in(colon, end, '?'), *reads = find_in(colon, when, '!');

	*v = (struct dt_signature_value){.name = s, .typed = s};
	if (!*s || *s == ';')
		return false;
	*p = *end == ',' ? end + 1 : end;
	if (colon == end || colon - s > UINT16_MAX)
		return true; /* there is a parameter, but nothing is known of it */
	v->name_length = (uint16_t)(colon - s);
	v->rest = colon - s == 3 && s[0] == '.' && s[1] == '.' && s[2] == '.';
	read_typed(colon + 1, reads, v);
	if (reads < when)
		read_reads(reads + 1, when, &v->reads);
	if (when < end)
		read_when(when + 1, end, v);
	return true;
}

bool dt_signature_parameter(const char *signature, unsigned i, struct dt_signature_value *v)
{
	const char *p = signature;

	if (!dt_signature_known(signature))
		return false;
	while (dt_signature_next(&p, v))
		if (!i--)
			return true;
	return false;
}

bool dt_signature_named(const char *signature, const char *name, size_t n,
			struct dt_signature_value *v)
{
	const char *p = signature;

	if (!dt_signature_known(signature))
		return false;
	while (dt_signature_next(&p, v))
		if (v->name_length == n && __builtin_memcmp(v->name, name, n) == 0)
			return true;
	return false;
}

bool dt_signature_result(const char *signature, struct dt_signature_value *v)
{
	const char *semicolon = find(signature, ";"), *failure;

	*v = (struct dt_signature_value){.name = semicolon, .typed = semicolon};
	if (!*semicolon)
		return false;
	failure = find(semicolon + 1, "!");
	read_typed(semicolon + 1, failure, v);
	if (*failure)
		read_failure(failure + 1, find(failure, ""), &v->failure);
	return true;
}

/* place, width: how large those may be; those of a text. */
static int read_member(const char **p, struct dt_signature_member *m, uint64_t place,
		       uint64_t width)
{
	const char *s = *p, *end = find(s, ","), *colon = find_in(s, end, ':');
	const char *at = find_in(colon, end, '@'), *q = at + 1;
	uint64_t bit, bits = 0;

	*m = (struct dt_signature_member){.name = s};
	if (!*s)
		return 0;
	if (at == end || colon - s > UINT16_MAX)
		return -1;
	m->name_length = (uint16_t)(colon - s);
	if (!dt_signature_type(colon + 1, (size_t)(at - colon - 1), &m->type) ||
	    (m->type.keyed && !m->type.row) || !take_number(&q, end, place, &bit))
		return -1;
	if (q < end && *q == '/') {
		q++;
		if (!take_number(&q, end, width, &bits) || !bits)
			return -1;
	}
	if (q != end)
		return -1;
	m->bit = (uint16_t)bit;
	m->bits = (uint8_t)bits;
	*p = *end ? end + 1 : end;
	return 1;
}

int dt_signature_member(const char **p, struct dt_signature_member *m)
{
	return read_member(p, m, 127, 64);
}

int dt_signature_in_memory(const char **p, struct dt_signature_member *m)
{
	return read_member(p, m, UINT16_MAX, UINT8_MAX);
}
