/* SPDX-License-Identifier: MIT */
/* Hits of several records. */
#include "show/whole-hit.h"

#include <stdlib.h>
#include <string.h>

#include "core/signature.h"
#include "show/entry-records.h"

#define CALL 1 /* each hit's values are those of one "call" in its own dt_fulls */

/* Returns how many fields are in later records. */
static unsigned in_later(const struct dt_reader *r, uint32_t function)
{
	const struct dt_function_info *info = dt_reader_function(r, function);
	const char *p = info ? info->signature : "";
	struct dt_signature_value v;
	unsigned n = 0;

	while (dt_signature_next(&p, &v))
		n += !v.places && !v.rest && v.name_length;
	return n;
}

/* Ends a hit: gives it away. */
static void end(struct dt_whole_hits *h, struct dt_whole_hit **p)
{
	struct dt_whole_hit *x = *p;

	*p = x->next;
	x->next = NULL;
	x->full = dt_full_take(&x->fulls, CALL);
	h->failed |= x->fulls.failed;
	h->fn(h->ctx, x);
}

static void begin(struct dt_whole_hits *h, const struct dt_site *site, const struct dt_record *r,
		  unsigned missing)
{
	struct dt_whole_hit *x = calloc(1, sizeof(*x));

	if (!x) {
		h->failed = true;
		return;
	}
	x->head = *r;
	x->site = *site;
	x->missing = missing;
	x->next = h->first;
	h->first = x;
}

/* Are these rows of the same place, one for each kind of its records? */
static bool is_same(const struct dt_reader *r, uint32_t a, uint32_t b)
{
	const struct dt_function_info *x = dt_reader_function(r, a), *y = dt_reader_function(r, b);

	return x && y && x->address == y->address && x->module == y->module;
}

/* Finds the hit that a record of a thread belongs to; NULL: none. */
static struct dt_whole_hit **find(struct dt_whole_hits *h, uint32_t function,
				  const struct dt_record *r)
{
	for (struct dt_whole_hit **p = &h->first; *p; p = &(*p)->next)
		if ((*p)->head.tid == r->tid && (*p)->head.sp == r->sp &&
		    is_same(h->formats->reader, function, (*p)->site.function))
			return p;
	return NULL;
}

struct adding {
	struct dt_whole_hits *h;
	struct dt_whole_hit *x;
	const uint64_t *value;
};

/* Keeps a value: its text, and its number. The name is in the format of its function. */
static void add(void *ctx, const char *name, size_t n, const char *text, size_t length)
{
	struct adding *a = ctx;
	struct dt_whole_hit *x = a->x;

	dt_full_add(&x->fulls, CALL, name, n, text, length);
	if (x->numbers < DT_HIT_FIELDS)
		x->number[x->numbers++] = (struct dt_whole_hit_number){
			name, n, dt_format_number(a->h->formats, a->value)};
	x->missing -= x->missing != 0;
}

bool dt_whole_hits_take(struct dt_whole_hits *h, const struct dt_site *site,
			const struct dt_record *r)
{
	struct adding a = {.h = h, .value = r->value};
	struct dt_whole_hit **p;
	unsigned missing;

	if (site->place == DT_SITE_POINT) {
		missing = in_later(h->formats->reader, site->function);
		p = h->first ? find(h, site->function, r) : NULL;
		/* the last records of one before have been lost */
		if (p)
			end(h, p);
		if (missing)
			begin(h, site, r, missing);
		return missing != 0;
	}
	p = h->first && site->place == DT_SITE_POINT_MORE ? find(h, site->function, r) : NULL;
	if (!p)
		return false;
	a.x = *p;
	dt_format_each(h->formats, site->function, r->value, r->flags & DT_FAULT, add, &a);
	if (!a.x->missing)
		end(h, p);
	return true;
}

bool dt_whole_hits_take_text(struct dt_whole_hits *h, const struct dt_text *t)
{
	struct dt_whole_hit **p =
		h->first && dt_text_of_point(t) ? find(h, t->function, &t->head) : NULL;

	if (!p)
		return false;
	dt_entry_records_text(&(*p)->fulls, CALL, h->formats->reader, t, (*p)->head.value);
	(*p)->missing -= (*p)->missing != 0;
	if (!(*p)->missing)
		end(h, p);
	return true;
}

void dt_whole_hits_end_of(struct dt_whole_hits *h, uint32_t tid)
{
	for (struct dt_whole_hit **p = &h->first; *p;)
		if ((*p)->head.tid == tid)
			end(h, p);
		else
			p = &(*p)->next;
}

void dt_whole_hits_end(struct dt_whole_hits *h)
{
	while (h->first)
		end(h, &h->first);
}

struct dt_format_number dt_whole_hit_number(const struct dt_whole_hit *h, const char *name,
					    size_t n)
{
	for (unsigned i = 0; i < h->numbers; i++)
		if (h->number[i].n == n && memcmp(h->number[i].name, name, n) == 0)
			return h->number[i].is;
	return (struct dt_format_number){.kind = DT_NUMBER_NONE};
}

void dt_whole_hit_free(struct dt_whole_hit *h)
{
	if (!h)
		return;
	free(h->full.text);
	dt_fulls_free(&h->fulls);
	free(h);
}
