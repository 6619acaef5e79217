/* SPDX-License-Identifier: MIT */
/* Finding the values that can be compared. */
#include "analyse/compared.h"

#include <stdlib.h>
#include <string.h>

#include "core/signature.h"

#define DEEPEST 8 /* how deeply structures in structures are looked into */

/* Which values all records of a function have: the intersection over its sites. */
struct masks {
	uint8_t entry, exit;
};

/* A parameter or the result: its type, and the one or two values that it is in. */
struct value {
	char letter;
	uint8_t place[2], places;
	uint64_t mask[2]; /* bits that belong to it */
	bool pointer;
};

static uint64_t ones(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

/* Adds to mask the bits that the members of a structure have in its up to 16 bytes, from `bit' on.
 * False: there is a pointer among the members, or they are not known. */
static bool take_members(const struct dt_reader *r, uint32_t type, uint64_t bit, unsigned depth,
			 uint64_t mask[2])
{
	const char *text = dt_reader_type(r, type), *p = text ? strchr(text, ';') : NULL;
	struct dt_signature_member m;
	int rc;

	if (!p || text[0] != 'a' || depth == DEEPEST)
		return false;
	for (p++; (rc = dt_signature_member(&p, &m)) > 0;) {
		uint64_t from = bit + m.bit, bits = m.bits ? m.bits : 8u * m.type.size;

		if (from > 127 || m.type.letter == 'p' || m.type.letter == 's')
			return false;
		if (m.type.letter == 'a') {
			if (!take_members(r, m.type.row, from, depth + 1, mask))
				return false;
			continue;
		}
		mask[from / 64] |= ones((unsigned)bits) << from % 64;
		if (from % 64 + bits > 64 && from < 64)
			mask[1] |= ones((unsigned)(from + bits - 64));
	}
	return rc == 0;
}

/* Reads where a value is. False: it is not recorded completely. */
static bool read_value(const struct dt_reader *r, const struct dt_signature_value *s,
		       struct value *v)
{
	*v = (struct value){.letter = s->type.letter, .mask = {UINT64_MAX, UINT64_MAX}};
	/* files from before 2026-11-23 have e for what is u since then */
	if (v->letter == 'e' || v->letter == 'u')
		v->letter = 'i';
	if (!dt_signature_whole(s))
		return false;
	for (; v->places < s->places; v->places++) {
		if (s->place[v->places].kind != DT_PLACE_VALUE || s->place[v->places].n > 3)
			return false;
		v->place[v->places] = (uint8_t)s->place[v->places].n;
	}
	v->pointer = v->letter == 'p' || v->letter == 's';
	if (v->letter == 'a') {
		uint64_t mask[2] = {0};

		v->pointer = !s->type.row || !take_members(r, s->type.row, 0, 0, mask);
		if (!v->pointer)
			memcpy(v->mask, mask, sizeof(mask));
	} else if (v->places == 1 && !v->pointer) {
		v->mask[0] = ones(8u * s->type.size);
	}
	return true;
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
	struct dt_signature_value said[2];
	const char *signature[2];
	uint8_t entry[2], leave[2];
	struct value v[2];

	for (unsigned side = 0; side < 2; side++) {
		signature[side] = dt_reader_function(r[side], f->row[side])->signature;
		entry[side] = masks[side]->entry;
		leave[side] = masks[side]->exit;
	}
	if (!dt_signature_known(signature[0]) || !dt_signature_known(signature[1])) {
		for (uint8_t i = 0; i < 4 && pointers; i++) {
			if (entry[0] & entry[1] & 1u << i)
				c->argument[c->arguments++] =
					(struct dt_compared_value){i, UINT64_MAX};
		}
		if (pointers && leave[0] & leave[1] & 1)
			c->result[c->results++] = (struct dt_compared_value){0, UINT64_MAX};
		return;
	}
	for (unsigned i = 0; dt_signature_parameter(signature[0], i, &said[0]) &&
			     dt_signature_parameter(signature[1], i, &said[1]);
	     i++)
		if (read_value(r[0], &said[0], &v[0]) && read_value(r[1], &said[1], &v[1]))
			add(c->argument, &c->arguments, v, entry, pointers);
	for (unsigned side = 0; side < 2; side++)
		if (!dt_signature_result(signature[side], &said[side]) ||
		    !read_value(r[side], &said[side], &v[side]))
			return;
	add(c->result, &c->results, v, leave, pointers);
}

/* Returns the masks by function of the match. */
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
