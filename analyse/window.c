/* SPDX-License-Identifier: MIT */
/* Windows of a trace: the whole, and the calls in one. */
#include "analyse/window-work.h"

#include <stdlib.h>

#include "analyse/meanings.h"

unsigned dt_window_shift(uint64_t from, uint64_t to, unsigned cells)
{
	unsigned shift = 0;

	while (shift < 62 && ((to - from) >> shift) >= cells)
		shift++;
	return shift;
}

/* ---- calls ---- */

int dt_window_calls(struct dt_windows *w, uint64_t from, uint64_t to,
		    void (*fn)(void *ctx, const struct dt_call *c), void *ctx, struct dt_error *e)
{
	return dt_window_waits(w, from, to, fn, NULL, ctx, e);
}

int dt_window_waits(struct dt_windows *w, uint64_t from, uint64_t to,
		    void (*fn)(void *ctx, const struct dt_call *c), dt_window_wait *wait, void *ctx,
		    struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	int rc;

	if (!p->regions || to < from)
		return 0;
	w->call = fn;
	w->wait = wait;
	w->ctx = ctx;
	w->from = from;
	w->to = to;
	rc = dt_window_read_regions(w, dt_pyramid_region(p, from), dt_pyramid_region(p, to), to,
				    true, e);
	w->call = NULL;
	w->wait = NULL;
	for (size_t i = 0; rc == 0 && i < p->lates; i++)
		if (p->late[i].end >= from && p->late[i].end <= to)
			fn(ctx, &p->late[i]);
	return rc;
}

static int edge_stats(struct dt_windows *w, size_t region, uint64_t from, uint64_t to,
		      struct dt_stats *s, struct dt_error *e)
{
	int rc;

	w->call = dt_stats_call;
	w->ctx = s;
	w->from = from;
	w->to = to;
	rc = dt_window_read_regions(w, region, region, to, w->filter && w->values, e);
	w->call = NULL;
	return rc;
}

int dt_window_stats(struct dt_windows *w, uint64_t from, uint64_t to, struct dt_stats *s,
		    struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;

	for (size_t i = dt_pyramid_region(p, from); i < p->regions && p->region[i].begin <= to;
	     i++) {
		const struct dt_region *r = &p->region[i];

		if (from <= r->begin && to >= r->end - 1 && r->stats) {
			w->scratch.n = 0;
			if (dt_bars_load(p->bars, r->stats, &w->scratch, e) < 0)
				return -1;
			if (dt_stats_add(s, w->scratch.p, w->scratch.n,
					 dt_reader_functions(w->reader)) < 0)
				return dt_fail(e, "the summaries for the time line are damaged");
		} else if (edge_stats(w, i, from, to, s, e) < 0) {
			return -1;
		}
	}
	for (size_t i = 0; i < p->lates; i++)
		if (p->late[i].end >= from && p->late[i].end <= to)
			dt_stats_call(s, &p->late[i]);
	return s->no_memory ? dt_window_no_memory(e) : 0;
}

/* ---- the whole ---- */

struct dt_windows *dt_windows_new(struct dt_pyramid *p, const char *path, struct dt_error *e)
{
	struct dt_windows *w = calloc(1, sizeof(*w));

	if (!w) {
		dt_window_no_memory(e);
		return NULL;
	}
	w->pyramid = p;
	w->reader = dt_reader_open(path, e);
	if (!w->reader)
		goto fail;
	if (p->filter) {
		w->filter = dt_meanings_filter(p->filter, w->reader, e);
		if (!w->filter)
			goto fail;
	}
	w->values =
		dt_feed_needs_values(w->reader) || (w->filter && dt_filter_needs_values(w->filter));
	if (dt_windows_feed(w) == 0)
		return w;
	dt_window_no_memory(e);
fail:
	dt_windows_free(w);
	return NULL;
}

void dt_windows_free(struct dt_windows *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < CACHED; i++) {
		free(w->cache[i].first);
		free(w->cache[i].sorted);
	}
	dt_feed_free(w->feed);
	dt_filter_free(w->filter);
	dt_reader_close(w->reader);
	free(w->bar);
	free(w->cell);
	free(w->scratch.p);
	free(w);
}

struct dt_reader *dt_windows_reader(struct dt_windows *w)
{
	return w->reader;
}

struct dt_filter *dt_windows_filter(struct dt_windows *w)
{
	return w->filter;
}
