/* SPDX-License-Identifier: MIT */
/* Equal functions. */
#include <stdlib.h>
#include <string.h>
#include "analyse/same.h"
#include "store/twins.h"

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

static bool is_same(const void *reader, uint32_t a, const void *b)
{
	const struct dt_reader *r = reader;
	struct place p = place_of(r, a), q = place_of(r, *(const uint32_t *)b);

	return p.offset == q.offset && !strcmp(p.path, q.path) &&
	       !strcmp(dt_reader_function(r, a)->name,
		       dt_reader_function(r, *(const uint32_t *)b)->name);
}

/* Returns the row that stands for all rows of the same place; 0: out of memory. */
static uint32_t first_of(struct dt_same *s, const struct dt_reader *r, uint32_t id)
{
	const char *name = dt_reader_function(r, id)->name;
	uint32_t hash = dt_first_hash(place_of(r, id).offset, name, strlen(name));
	struct dt_first_entry *x;

	/* so that rows of two traces are never looked at as the same */
	if (s->second && id >= s->second)
		hash = ~hash;
	if (dt_first_room(&s->place))
		return 0;
	x = dt_first_find(&s->place, hash, is_same, r, &id);
	if (!x->id)
		dt_first_put(&s->place, x, id, hash);
	return x->id;
}

/* ---- parts ---- */

struct part {
	uint32_t module;
	const char *name; /* n bytes of it */
	size_t n;
};

static bool is_called(const void *reader, uint32_t id, const void *part)
{
	const struct dt_function_info *f = dt_reader_function(reader, id);
	const struct part *p = part;

	return f->module == p->module && !strncmp(f->name, p->name, p->n) && !f->name[p->n];
}

static struct dt_first_entry *find_name(const struct dt_same *s, const struct dt_reader *r,
					const struct part *p, uint32_t *hash)
{
	*hash = dt_first_hash(p->module, p->name, p->n);
	return dt_first_find(&s->name, *hash, is_called, r, p);
}

/* Returns the function that "f.cold" was split off from, or its own row if that is not there. 0:
 * out of memory. */
static uint32_t whole(struct dt_same *s, const struct dt_reader *r, uint32_t id)
{
	const struct dt_function_info *f = dt_reader_function(r, id);
	const char *cold = strstr(f->name, ".cold");
	struct part p = {f->module, f->name, cold ? (size_t)(cold - f->name) : 0};
	struct dt_first_entry *x;
	uint32_t hash;

	if (!p.n)
		return id;
	for (s->named += !s->named; s->named <= dt_reader_functions(r); s->named++) {
		const struct dt_function_info *g = dt_reader_function(r, s->named);
		struct part all = {g->module, g->name, strlen(g->name)};

		if (dt_first_room(&s->name))
			return 0;
		x = find_name(s, r, &all, &hash);
		if (!x->id)
			dt_first_put(&s->name, x, s->named, hash);
	}
	x = find_name(s, r, &p, &hash);
	return x->id ? x->id : id;
}

/* ---- all ---- */

int dt_same_update(struct dt_same *s, const struct dt_reader *r)
{
	uint32_t n = dt_reader_functions(r) + 1, *p;

	if (n <= s->n)
		return 0;
	s->second = dt_twins_second(r, NULL);
	p = realloc(s->first, n * sizeof(*p));
	if (!p)
		return -1;
	s->first = p;
	if (s->n == 0)
		s->first[s->n++] = 0;
	/* first all rows, so that a function is found that comes after its part */
	for (uint32_t i = s->n; i < n; i++)
		if (!(s->first[i] = first_of(s, r, i)))
			return -1;
	for (; s->n < n; s->n++) {
		uint32_t w = whole(s, r, s->first[s->n]);

		if (!w || !(w = first_of(s, r, w)))
			return -1;
		s->first[s->n] = w;
	}
	return 0;
}

void dt_same_free(struct dt_same *s)
{
	free(s->first);
	free(s->place.entry);
	free(s->name.entry);
}
