/* SPDX-License-Identifier: MIT */
#include "filter/names.h"

#include <stdlib.h>
#include <string.h>

/* A constant: its value, and the bits that it is about. */
struct constant {
	uint64_t value, mask;
};

bool dt_names_has(const char *described)
{
	return described && described[0] && strchr("efj", described[0]) && described[1] == ':' &&
	       strchr(described, ';');
}

/*
 * Finds the constant with the name of n characters at or behind *p, which is moved past it: several
 * may have one name, for different values of `upper'. False: there are no more.
 */
static bool next_constant(const char **p, const char *name, size_t n, struct constant *c)
{
	for (const char *s = *p; s; s = strchr(s, ',')) {
		char *end;

		s += *s == ',' || *s == ';';
		if (strncmp(s, name, n) != 0 || s[n] != '=')
			continue;
		c->value = (uint64_t)strtoll(s + n + 1, &end, 10);
		c->mask = c->value;
		if (*end == '/')
			c->mask = strtoull(end + 1, &end, 10);
		*p = strchr(end, ',');
		return true;
	}
	return false;
}

/* Reads one part of the words, a name or a number, of n characters. */
static bool read_part(const char *described, const char *part, size_t n, struct constant *c)
{
	const char *p = strchr(described, ';');
	char *end;

	if (*part >= '0' && *part <= '9') {
		c->value = c->mask = strtoull(part, &end, 0);
		return end == part + n;
	}
	return n && next_constant(&p, part, n, c);
}

/* Is it one of the numbers of that name? described is of kind 'j': the value of the record whose
 * number stands behind its ';' is their upper half. */
static int is_joined(const char *described, const char *words, uint64_t v, const uint64_t *record)
{
	const char *p = strchr(described, ';') + 1;
	struct constant c;
	bool any = false;

	if (*p < '0' || *p > '3')
		return -1;
	v = (uint32_t)v | record[*p - '0'] << 32;
	for (p = strchr(p, ','); p && next_constant(&p, words, strlen(words), &c); any = true)
		if (c.value == v)
			return 1;
	return any ? 0 : -1;
}

int dt_names_are(const char *described, const char *words, uint64_t v, unsigned size,
		 const uint64_t *record)
{
	uint64_t bits = size >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1, named = 0;
	bool others = false, fits = true;

	if (described[0] == 'j')
		return is_joined(described, words, v, record);
	v &= bits;
	for (const char *p = words;; p++) {
		size_t n = strcspn(p, "|");
		struct constant c;

		if (n == 1 && *p == '*' && p > words && !p[1]) {
			others = true;
		} else {
			if (!read_part(described, p, n, &c))
				return -1;
			fits = fits && (v & c.mask & bits) == (c.value & bits);
			named |= c.value;
		}
		p += n;
		if (!*p)
			break;
	}
	return others ? fits : v == (named & bits);
}
