/* SPDX-License-Identifier: MIT */
/* Values that can be compared. */
#include "analyse/compared.h"

#include <stdlib.h>
#include <string.h>

#define DEEPEST 8 /* structures in structures that are looked into */

/* Values of the records of a function that are there: in every one of its sites. */
struct masks {
	uint8_t entry, exit;
};

/* A parameter or the result: of a type, in one or two places. */
struct value {
	char letter;
	uint8_t place[2], places;
	uint64_t mask[2]; /* bits that are its */
	bool pointer;
};

static uint64_t ones(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

static unsigned size_of(const char *type)
{
	return strchr("cb", type[0])		  ? 1
	       : type[1] >= '1' && type[1] <= '8' ? (unsigned)(type[1] - '0')
						  : 8;
}

/* The bits that the members of a structure have in its up to 16 bytes, from `bit' on. False: there
 * is a pointer among them, or it is not known what they are. */
static bool take_members(const struct dt_reader *r, uint32_t type, uint64_t bit, unsigned depth,
			 uint64_t mask[2])
{
	const char *text = dt_reader_type(r, type), *p = text ? strchr(text, ';') : NULL;

	if (!p || text[0] != 'a' || depth == DEEPEST)
		return false;
	for (p++; *p;) {
		const char *end = p + strcspn(p, ","), *member = p + strcspn(p, ":,");
		const char *at = memchr(p, '@', (size_t)(end - p)), *bits;
		uint64_t from = bit + (at ? strtoul(at + 1, NULL, 10) : 0);

		if (*member++ != ':' || !at || at < member || from > 127 || strchr("ps", *member))
			return false;
		bits = memchr(at, '/', (size_t)(end - at));
		if (*member != 'a')
			mask[from / 64] |= ones(bits ? (unsigned)strtoul(bits + 1, NULL, 10)
						     : 8 * size_of(member))
					   << from % 64;
		else if (member[1] != '#' ||
			 !take_members(r, (uint32_t)strtoul(member + 2, NULL, 10), from, depth + 1,
				       mask))
			return false;
		p = *end ? end + 1 : end;
	}
	return true;
}

/* "type@place" */
static bool parse_value(const struct dt_reader *r, const char *s, size_t n, struct value *v)
{
	const char *at = memchr(s, '@', n), *type = at ? memchr(s, '#', (size_t)(at - s)) : NULL;
	size_t places = at ? (size_t)(s + n - at - 1) : 0;

	*v = (struct value){.letter = s[0], .mask = {UINT64_MAX, UINT64_MAX}};
	if (!places || at[1] < '0' || at[1] > '3')
		return false;
	v->place[v->places++] = (uint8_t)(at[1] - '0');
	if (places >= 3 && at[2] == '+' && at[3] >= '0' && at[3] <= '3')
		v->place[v->places++] = (uint8_t)(at[3] - '0');
	v->pointer = s[0] == 'p' || s[0] == 's';
	if (s[0] == 'a') {
		uint64_t mask[2] = {0};

		v->pointer = !type ||
			     !take_members(r, (uint32_t)strtoul(type + 1, NULL, 10), 0, 0, mask);
		if (!v->pointer)
			memcpy(v->mask, mask, sizeof(mask));
	} else if (v->places == 1 && !v->pointer) {
		v->mask[0] = ones(8 * size_of(s));
	}
	return true;
}

/* The i-th parameter. */
static bool parameter(const struct dt_reader *r, const char *signature, unsigned i, struct value *v)
{
	const char *end = strchr(signature, ';'), *p = signature;

	for (; end && p < end; i--) {
		const char *comma = memchr(p, ',', (size_t)(end - p)), *next = comma ? comma : end;
		const char *colon = memchr(p, ':', (size_t)(next - p));

		if (!i)
			return colon && parse_value(r, colon + 1, (size_t)(next - colon - 1), v);
		p = next + 1;
	}
	return false;
}

static bool has_parameter(const char *signature, unsigned i)
{
	const char *end = strchr(signature, ';'), *p = signature;

	for (; end && i && (p = memchr(p, ',', (size_t)(end - p))); i--)
		p++;
	return end && p && p < end;
}

static void add(struct dt_compared_value *to, uint8_t *n, const struct value v[2],
		const uint8_t mask[2], bool pointers)
{
	if (v[0].letter != v[1].letter || v[0].places != v[1].places ||
	    memcmp(v[0].mask, v[1].mask, sizeof(v[0].mask)) != 0 ||
	    ((v[0].pointer || v[1].pointer) && !pointers))
		return;
	for (unsigned i = 0; i < v[0].places; i++) {
		if (v[0].place[i] != v[1].place[i] || !(mask[0] & mask[1] & 1u << v[0].place[i]) ||
		    *n == DT_COMPARED)
			continue;
		to[(*n)++] = (struct dt_compared_value){v[0].place[i], v[0].mask[i]};
	}
}

static void compare_function(struct dt_compared *c, const struct dt_reader *const r[2],
			     const struct dt_match_function *f, struct masks *const masks[2],
			     bool pointers)
{
	const char *signature[2];
	uint8_t entry[2], leave[2];
	struct value v[2];

	for (unsigned side = 0; side < 2; side++) {
		signature[side] = dt_reader_function(r[side], f->row[side])->signature;
		entry[side] = masks[side]->entry;
		leave[side] = masks[side]->exit;
	}
	if (!*signature[0] || !*signature[1]) {
		for (uint8_t i = 0; i < 4 && pointers; i++) {
			if (entry[0] & entry[1] & 1u << i)
				c->argument[c->arguments++] =
					(struct dt_compared_value){i, UINT64_MAX};
		}
		if (pointers && leave[0] & leave[1] & 1)
			c->result[c->results++] = (struct dt_compared_value){0, UINT64_MAX};
		return;
	}
	for (unsigned i = 0; has_parameter(signature[0], i) && has_parameter(signature[1], i); i++)
		if (parameter(r[0], signature[0], i, &v[0]) &&
		    parameter(r[1], signature[1], i, &v[1]))
			add(c->argument, &c->arguments, v, entry, pointers);
	for (unsigned side = 0; side < 2; side++) {
		const char *result = strchr(signature[side], ';');

		if (!result || !parse_value(r[side], result + 1, strlen(result + 1), &v[side]))
			return;
	}
	add(c->result, &c->results, v, leave, pointers);
}

/* By function of the match. */
static struct masks *read_masks(const struct dt_match *m, unsigned side, const struct dt_reader *r)
{
	struct masks *mask = calloc(m->n, sizeof(*mask));
	bool *entry = calloc(m->n, sizeof(*entry)), *leave = calloc(m->n, sizeof(*leave));

	for (uint32_t i = 1; mask && entry && leave && i <= dt_reader_sites(r); i++) {
		const struct dt_site *s = dt_reader_site(r, i);
		uint32_t f = s && s->function < m->rows[side] ? m->of[side][s->function] : 0;

		if (!f)
			continue;
		if (s->kind == DT_ENTRY) {
			mask[f].entry = entry[f] ? mask[f].entry & s->mask : s->mask;
			entry[f] = true;
		} else if (s->kind == DT_EXIT && s->place != DT_SITE_TAIL) {
			mask[f].exit = leave[f] ? mask[f].exit & s->mask : s->mask;
			leave[f] = true;
		}
	}
	free(entry);
	free(leave);
	return mask;
}

struct dt_compared *dt_compared_read(const struct dt_match *m, const struct dt_reader *const r[2],
				     bool pointers)
{
	struct masks *mask[2] = {read_masks(m, 0, r[0]), read_masks(m, 1, r[1])};
	struct dt_compared *c = calloc(m->n, sizeof(*c));

	for (uint32_t f = 1; c && mask[0] && mask[1] && f < m->n; f++) {
		struct masks *const of[2] = {&mask[0][f], &mask[1][f]};

		if (m->function[f].row[0] && m->function[f].row[1])
			compare_function(&c[f], r, &m->function[f], of, pointers);
	}
	if (!mask[0] || !mask[1]) {
		free(c);
		c = NULL;
	}
	free(mask[0]);
	free(mask[1]);
	return c;
}
