/* SPDX-License-Identifier: MIT */
/* Durations over time. */
#include "analyse/heat.h"

#include <stdlib.h>

#define READ_MOST 1000000 /* records: of a range that has no more, the calls are read */

static bool is_same(const struct dt_heat *h, uint32_t function)
{
	const uint32_t *first = h->same->first;

	return function < h->same->n && h->function < h->same->n &&
	       first[function] == first[h->function];
}

/* Returns the first tick of a column, as planned. */
static uint64_t planned(const struct dt_heat *h, unsigned column)
{
	return h->from + (uint64_t)((double)(h->to - h->from + 1) * column / h->columns);
}

static unsigned column_of(const struct dt_heat *h, uint64_t ticks)
{
	unsigned k =
		(unsigned)((double)(ticks - h->from) * h->columns / (double)(h->to - h->from + 1));

	k = k < h->columns ? k : h->columns - 1;
	while (k && ticks < planned(h, k))
		k--;
	while (k + 1 < h->columns && ticks >= planned(h, k + 1))
		k++;
	return k;
}

static uint64_t *buckets(struct dt_heat *h, unsigned column)
{
	struct dt_heat_column *c = &h->column[column];

	if (!c->bucket && !(c->bucket = calloc(DT_BUCKETS, sizeof(*c->bucket))))
		h->no_memory = true;
	return c->bucket;
}

/* What a reading of calls adds to. */
struct adding {
	struct dt_heat *h;
	int column; /* -1: that of the call's end */
};

static void on_call(void *ctx, const struct dt_call *c)
{
	const struct adding *a = ctx;
	struct dt_heat *h = a->h;
	uint64_t *bucket;

	if (!is_same(h, c->function) || c->flags & DT_CALL_NO_ENTRY)
		return;
	h->calls++;
	if (c->flags & DT_CALL_UNTIMED) {
		h->untimed++;
		return;
	}
	bucket = buckets(h, a->column < 0 ? column_of(h, c->end) : (unsigned)a->column);
	if (bucket)
		bucket[dt_stats_bucket(dt_call_ticks(c))]++;
}

/* Adds what the pyramid knows of a region. */
static int add_region(struct dt_heat *h, const struct dt_pyramid *p, const struct dt_region *r,
		      unsigned column, struct dt_bytes *scratch, struct dt_stats *t,
		      struct dt_error *e)
{
	dt_stats_reset(t);
	scratch->n = 0;
	if (dt_bars_load(p->bars, r->stats, scratch, e) < 0)
		return -1;
	if (dt_stats_add(t, scratch->p, scratch->n, dt_reader_functions(p->reader)) < 0)
		return dt_fail(e, "the summaries for the time line are damaged");
	for (uint32_t i = 0; i < t->functions; i++) {
		const struct dt_function_stats *f = &t->function[i];
		uint64_t *bucket;

		if (!f->calls || !is_same(h, i))
			continue;
		h->calls += f->calls;
		h->untimed += f->calls - f->timed;
		bucket = f->timed ? buckets(h, column) : NULL;
		for (unsigned b = 0; bucket && b < DT_BUCKETS; b++)
			bucket[b] += f->bucket[b];
	}
	return 0;
}

static bool is_whole(const struct dt_heat *h, const struct dt_region *r)
{
	return r->begin >= h->from && r->end - 1 <= h->to && r->stats;
}

/* Adds the calls that were open when the trace ended: no region has them. Those of regions that
 * were read came with these. */
static void add_late(struct dt_heat *h, const struct dt_pyramid *p)
{
	for (size_t i = 0; i < p->lates; i++) {
		const struct dt_call *c = &p->late[i];

		if (c->end < h->from || c->end > h->to || !is_same(h, c->function) ||
		    c->flags & DT_CALL_NO_ENTRY ||
		    !is_whole(h, &p->region[dt_pyramid_region(p, c->end)]))
			continue;
		h->calls++;
		h->untimed++;
	}
}

/* Takes whole regions into the column in which they begin, and widens that to them. */
static int count_regions(struct dt_heat *h, struct dt_windows *w, const struct dt_pyramid *p,
			 struct dt_error *e)
{
	struct dt_bytes scratch = {0};
	struct dt_stats t = {0};
	bool used[DT_HEAT_COLUMNS] = {false};
	int rc = 0;

	for (size_t i = dt_pyramid_region(p, h->from);
	     rc == 0 && i < p->regions && p->region[i].begin <= h->to; i++) {
		const struct dt_region *r = &p->region[i];
		uint64_t begin = r->begin > h->from ? r->begin : h->from;
		uint64_t end = r->end - 1 < h->to ? r->end - 1 : h->to;
		struct adding a = {h, (int)column_of(h, begin)};
		struct dt_heat_column *c = &h->column[a.column];

		if (is_whole(h, r))
			rc = add_region(h, p, r, (unsigned)a.column, &scratch, &t, e);
		else
			rc = dt_window_calls(w, begin, end, on_call, &a, e);
		if (!used[a.column])
			c->begin = begin;
		c->end = end;
		used[a.column] = true;
	}
	add_late(h, p);
	dt_stats_free(&t);
	free(scratch.p);
	return rc;
}

int dt_heat_count(struct dt_heat *h, struct dt_windows *w, const struct dt_pyramid *p,
		  struct dt_error *e)
{
	uint64_t records = 0;
	int rc;

	h->to = h->to < p->end ? h->to : p->end;
	h->from = h->from > p->begin ? h->from : p->begin;
	if (!p->regions || h->to < h->from)
		return 0;
	for (unsigned k = 0; k < h->columns; k++) {
		h->column[k].begin = planned(h, k);
		h->column[k].end = planned(h, k + 1) - 1;
	}
	for (size_t i = dt_pyramid_region(p, h->from);
	     i < p->regions && p->region[i].begin <= h->to; i++)
		records += p->region[i].records;
	h->even = records <= READ_MOST;
	if (h->even)
		rc = dt_window_calls(w, h->from, h->to, on_call, &(struct adding){h, -1}, e);
	else
		rc = count_regions(h, w, p, e);
	return h->no_memory ? dt_fail(e, "out of memory") : rc;
}

void dt_heat_free(struct dt_heat *h)
{
	for (unsigned k = 0; k < h->columns; k++)
		free(h->column[k].bucket);
}
