/* SPDX-License-Identifier: MIT */
/* Equal functions. */
#include <stdlib.h>
#include <string.h>
#include "analyse/same.h"

struct place {
	const char *path;
	uint64_t offset; /* in the file */
};

static struct place place_of(const struct dt_reader *r, uint32_t id)
{
	const struct dt_function_info *f = dt_reader_function(r, id);
	const struct dt_module_info *m = dt_reader_module(r, f->module);

	return (struct place){m ? m->path : "", m ? f->address - m->base : f->address};
}

static bool equal(const struct dt_reader *r, uint32_t a, uint32_t b)
{
	struct place p = place_of(r, a), q = place_of(r, b);

	return p.offset == q.offset && !strcmp(p.path, q.path) &&
	       !strcmp(dt_reader_function(r, a)->name, dt_reader_function(r, b)->name);
}

static uint32_t *slot(const struct dt_same *s, const struct dt_reader *r, uint32_t id)
{
	uint64_t h = place_of(r, id).offset * 0x9e3779b97f4a7c15u >> 32;

	for (;; h++) {
		uint32_t *t = &s->table[h & (s->size - 1)];

		if (!*t || equal(r, *t, id))
			return t;
	}
}

/* The function that "f.cold" was split off. */
static uint32_t whole(const struct dt_reader *r, uint32_t id)
{
	const struct dt_function_info *f = dt_reader_function(r, id), *g;
	const char *cold = strstr(f->name, ".cold");
	size_t n = cold ? (size_t)(cold - f->name) : 0;

	for (uint32_t i = 1; n && i <= dt_reader_functions(r); i++) {
		g = dt_reader_function(r, i);
		if (g->module == f->module && !strncmp(g->name, f->name, n) && !g->name[n])
			return i;
	}
	return id;
}

int dt_same_update(struct dt_same *s, const struct dt_reader *r)
{
	uint32_t n = dt_reader_functions(r) + 1, *p;

	if (n <= s->n)
		return 0;
	p = realloc(s->first, n * sizeof(*p));
	if (!p)
		return -1;
	s->first = p;
	if (2 * n > s->size) {
		free(s->table);
		for (s->size = 1024; s->size < 4 * n;)
			s->size *= 2;
		s->table = calloc(s->size, sizeof(*s->table));
		if (!s->table)
			return -1;
		s->n = 0;
	}
	if (s->n == 0)
		s->first[s->n++] = 0;
	for (; s->n < n; s->n++) {
		uint32_t *t = slot(s, r, s->n), w;

		if (!*t)
			*t = s->n;
		s->first[s->n] = *t;
		w = whole(r, *t);
		if (w != *t)
			s->first[s->n] = *slot(s, r, w) ? *slot(s, r, w) : w;
	}
	return 0;
}

void dt_same_free(struct dt_same *s)
{
	free(s->first);
	free(s->table);
}
