/* SPDX-License-Identifier: MIT */
/* Clipping sums to a range. */
#include "analyse/clip.h"

#include <stdlib.h>

#include "analyse/window-work.h"

/* ---- calls that end in the range ---- */

static void on_call(void *ctx, const struct dt_call *call)
{
	struct dt_clip *c = ctx;

	dt_stats_call(&c->stats, call);
	if (call->note && c->want_ways)
		dt_way_sums_call(&c->ways, call->note[1], call);
}

/* Adds what ends in a part of a region, from its records. */
static int add_edge(struct dt_windows *w, struct dt_clip *c, size_t region, uint64_t from,
		    struct dt_error *e)
{
	int rc;

	w->call = on_call;
	w->ctx = c;
	w->from = from;
	w->to = c->to;
	rc = dt_window_read_regions(w, region, region, c->to, w->filter && w->values, e);
	w->call = NULL;
	return rc;
}

/* Adds what ends in a region, from the pyramid. */
static int add_whole(struct dt_windows *w, struct dt_clip *c, const struct dt_region *r,
		     struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;

	w->scratch.n = 0;
	if (dt_bars_load(p->bars, r->stats, &w->scratch, e) < 0)
		return -1;
	if (dt_stats_add(&c->stats, w->scratch.p, w->scratch.n, dt_reader_functions(w->reader)) < 0)
		return dt_fail(e, "the summaries for the time line are damaged");
	if (!c->want_ways)
		return 0;
	w->scratch.n = 0;
	if (dt_bars_load(p->bars, r->ways, &w->scratch, e) < 0)
		return -1;
	if (dt_way_sums_take(&c->ways, w->scratch.p, w->scratch.n, p->ways.n) < 0)
		return dt_fail(e, "the summaries for the time line are damaged");
	return 0;
}

/* Counts a call that was open when the trace ended. Its time comes with the open calls: what is
 * known of calls of the same function in it must not be added to that. */
static void add_late_stats(struct dt_clip *c, const struct dt_call *x)
{
	dt_stats_call(&c->stats, x);
	if (x->function < c->functions && !(x->flags & (DT_CALL_RECURSIVE | DT_CALL_NO_ENTRY)))
		c->function[x->function].total -= (int64_t)x->inner;
}

static int add_ended(struct dt_windows *w, struct dt_clip *c, uint64_t from, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	int rc = 0;

	for (size_t i = dt_pyramid_region(p, from);
	     rc == 0 && i < p->regions && p->region[i].begin <= c->to; i++) {
		const struct dt_region *r = &p->region[i];

		if (from <= r->begin && c->to >= r->end - 1 && r->stats)
			rc = add_whole(w, c, r, e);
		else
			rc = add_edge(w, c, i, from, e);
	}
	for (size_t i = 0; rc == 0 && i < p->lates; i++)
		if (p->late[i].end >= from && p->late[i].end <= c->to)
			add_late_stats(c, &p->late[i]);
	return rc;
}

/* ---- calls that are open at an edge ---- */

struct open_call {
	uint32_t track, depth, function, way;
	uint64_t begin, took, self, inner; /* ticks */
	bool recursive;
};

struct open_calls {
	const struct dt_pyramid *pyramid;
	struct open_call *call;
	size_t n, room;
	bool no_memory;
};

static void on_open(void *ctx, const struct dt_open_call *x)
{
	struct open_calls *o = ctx;
	const struct dt_track *t = dt_pyramid_track(o->pyramid, DT_TRACK_THREAD, x->track);
	const struct dt_call *c = x->call;

	if (!t)
		return;
	if (o->n == o->room) {
		size_t room = o->room ? 2 * o->room : 256;
		struct open_call *more = realloc(o->call, room * sizeof(*more));

		if (!more) {
			o->no_memory = true;
			return;
		}
		o->call = more;
		o->room = room;
	}
	o->call[o->n++] = (struct open_call){.track = (uint32_t)(t - o->pyramid->track),
					     .depth = c->depth,
					     .function = c->function,
					     .way = c->note[1],
					     .begin = c->begin,
					     .took = x->took,
					     .self = x->self,
					     .inner = x->inner,
					     .recursive = c->flags & DT_CALL_RECURSIVE};
}

static int by_place(const void *a, const void *b)
{
	const struct open_call *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static struct dt_clip_function *function_of(struct dt_clip *c, uint32_t function)
{
	return function < c->functions ? &c->function[function] : NULL;
}

/*
 * Adds, or subtracts, what an open call has taken so far. Its bar tells how it goes on: without one
 * the filter does not want it, or it turned out to be over already.
 */
static void add_open(struct dt_clip *c, const struct open_call *o, const struct dt_bar *bar,
		     bool first)
{
	struct dt_clip_function *f = function_of(c, o->function);
	bool timed = !(bar->flags & DT_CALL_UNKNOWN);
	int64_t sign = first ? -1 : 1, self = timed ? sign * (int64_t)o->self : 0;
	int64_t total = sign * (int64_t)(timed ? o->took : o->inner);

	if (!f)
		return;
	f->total += o->recursive ? 0 : total;
	f->self += self;
	dt_way_sums_add(&c->ways, o->way, 0, self);
	/* one that goes on to the end of the trace and no further is counted with those that end */
	if (!first && bar->end > c->to)
		f->calls++, f->cut++;
	if (first && bar->end <= c->to)
		f->cut++;
}

/* Adds the calls of one track. bars: those that are open there at that moment, sorted as the calls
 * are. */
static void add_track(struct dt_clip *c, const struct open_call *o, size_t n,
		      const struct dt_bar_list *bars, bool first)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		while (k < bars->n &&
		       (bars->bar[k].depth < o[i].depth ||
			(bars->bar[k].depth == o[i].depth && bars->bar[k].begin < o[i].begin)))
			k++;
		/* what has ended at that tick begins as it did, perhaps, but is not it */
		while (k < bars->n && bars->bar[k].depth == o[i].depth &&
		       bars->bar[k].begin == o[i].begin && bars->bar[k].end == bars->bar[k].begin)
			k++;
		if (k < bars->n && bars->bar[k].depth == o[i].depth &&
		    bars->bar[k].begin == o[i].begin && bars->bar[k].count == 1 &&
		    bars->bar[k].what == o[i].function)
			add_open(c, &o[i], &bars->bar[k++], first);
	}
}

/* ---- calls that never ended ---- */

/* Where a call is that was open when the trace ended, and its index in the pyramid's list. */
struct late_call {
	struct open_call at; /* only what by_place() compares */
	size_t index;
};

/* Returns the calls that were open when the trace ended, sorted as open calls are; the caller frees
 * them. NULL: out of memory. */
static struct late_call *late_calls(const struct dt_pyramid *p)
{
	struct late_call *late = calloc(p->lates + 1, sizeof(*late));

	for (size_t i = 0; late && i < p->lates; i++) {
		const struct dt_call *c = &p->late[i];
		const struct dt_track *t = dt_pyramid_track(p, DT_TRACK_THREAD, c->tid);

		late[i].index = i;
		late[i].at.track = t ? (uint32_t)(t - p->track) : UINT32_MAX;
		late[i].at.depth = c->depth;
		late[i].at.begin = c->begin;
	}
	if (late && p->lates)
		qsort(late, p->lates, sizeof(*late), by_place);
	return late;
}

/* Adds those calls that are open as far as is known, but whose thread made its last record before
 * `at': they count up to that. */
static void add_late(const struct dt_pyramid *p, struct dt_clip *c, const struct open_calls *open,
		     uint64_t at, bool first, const struct late_call *late)
{
	for (size_t i = 0; i < open->n; i++) {
		struct open_call o = open->call[i];
		const struct late_call *l = bsearch(&o, late, p->lates, sizeof(*late), by_place);
		const struct dt_call *x = l ? &p->late[l->index] : NULL;

		if (!x || x->end >= at || x->flags & DT_CALL_NO_ENTRY)
			continue;
		o.took = dt_call_ticks(x);
		o.self = o.took > x->children ? o.took - x->children : 0;
		o.inner = x->inner;
		/* it is counted where it ends */
		add_open(c, &o, &(struct dt_bar){.end = at, .flags = x->flags}, first);
		if (first && function_of(c, o.function))
			function_of(c, o.function)->cut--;
	}
}

/* Takes what is open after tick `at'. */
static int add_at(struct dt_windows *w, struct dt_clip *c, uint64_t at, bool first,
		  struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	struct open_calls o = {.pyramid = p};
	struct dt_window window = {.from = at, .to = at};
	struct dt_bar_list bars = {0};
	size_t region = dt_pyramid_region(p, at);
	int rc = dt_window_read_regions(w, region, region, at, w->filter && w->values, e);

	if (rc == 0)
		dt_feed_each_open(w->feed, at, on_open, &o);
	if (o.no_memory)
		rc = dt_window_no_memory(e);
	if (o.n)
		qsort(o.call, o.n, sizeof(*o.call), by_place);
	for (size_t i = 0, n; rc == 0 && i < o.n; i += n) {
		for (n = 1; i + n < o.n && o.call[i + n].track == o.call[i].track;)
			n++;
		rc = dt_window_bars(w, o.call[i].track, &window, &bars, e);
		if (rc == 0)
			add_track(c, o.call + i, n, &bars, first);
	}
	if (rc == 0 && o.n && p->lates) {
		struct late_call *late = late_calls(p);

		if (late)
			add_late(p, c, &o, at, first, late);
		else
			rc = dt_window_no_memory(e);
		free(late);
	}
	free(bars.bar);
	free(o.call);
	return rc;
}

/* ---- tracks ---- */

/* Returns how much of a bar lies before a tick, without the time in which the tracer held the
 * thread. */
static uint64_t busy_before(struct dt_windows *w, const struct dt_track *t, const struct dt_bar *x,
			    uint64_t at)
{
	uint64_t busy = at - x->begin, held = 0;
	const struct dt_times *h;
	size_t n = 0;

	if (t->kind == DT_TRACK_CORE || x->busy == x->end - x->begin)
		return busy;
	h = dt_reader_thread_holds(w->reader, t->id, &n);
	for (size_t i = 0; i < n && h[i].begin < at; i++) {
		uint64_t begin = h[i].begin > x->begin ? h[i].begin : x->begin;
		uint64_t end = h[i].end < at ? h[i].end : at;

		held += end > begin ? end - begin : 0;
	}
	busy = busy > held ? busy - held : 0;
	return busy < x->busy ? busy : x->busy;
}

/* Adds, or subtracts, the parts of the bars of one track that lie before an edge. */
static int clip_track(struct dt_windows *w, struct dt_clip *c, uint32_t track, uint64_t at,
		      bool first, struct dt_bar_list *bars, struct dt_error *e)
{
	const struct dt_track *t = &w->pyramid->track[track];
	struct dt_window window = {.from = at, .to = at};
	struct dt_track_sum *sum = &c->track[track];

	if (dt_window_bars(w, track, &window, bars, e) < 0)
		return -1;
	for (size_t i = 0; i < bars->n; i++) {
		const struct dt_bar *x = &bars->bar[i];
		uint64_t before;

		if (x->count != 1 || x->begin > at || x->end <= at)
			continue;
		sum->count += !first;
		if (x->depth)
			continue;
		before = busy_before(w, t, x, at);
		if (first) {
			/* it is subtracted from a bar that ends in the range, or from the part that
			 * the other edge adds */
			sum->busy -= before;
			continue;
		}
		sum->busy += before;
	}
	return 0;
}

static int add_tracks(struct dt_windows *w, struct dt_clip *c, uint64_t from, bool edges,
		      struct dt_error *e)
{
	struct dt_bar_list bars = {0};
	int rc;

	c->tracks = w->pyramid->tracks;
	c->track = calloc(c->tracks + 1ul, sizeof(*c->track));
	if (!c->track)
		return dt_window_no_memory(e);
	rc = dt_window_sums(w, from, c->to, c->track, e);
	for (uint32_t t = 0; rc == 0 && t < c->tracks; t++) {
		const struct dt_track *x = &w->pyramid->track[t];

		if (x->kind != DT_TRACK_THREAD && x->kind != DT_TRACK_CORE)
			continue;
		if (edges && x->begin <= c->from && x->end > c->from)
			rc = clip_track(w, c, t, c->from, true, &bars, e);
		if (rc == 0 && x->begin <= c->to && x->end > c->to)
			rc = clip_track(w, c, t, c->to, false, &bars, e);
	}
	free(bars.bar);
	return rc;
}

/* ---- the whole ---- */

static void add_stats(struct dt_clip *c)
{
	for (uint32_t i = 0; i < c->stats.functions && i < c->functions; i++) {
		c->function[i].calls += c->stats.function[i].calls;
		c->function[i].total += (int64_t)c->stats.function[i].total;
		c->function[i].self += (int64_t)c->stats.function[i].self;
	}
}

int dt_window_clip(struct dt_windows *w, struct dt_clip *c, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	bool edges = c->from > p->begin;
	uint64_t from = edges ? c->from + 1 : p->begin;

	if (!p->regions || c->to < from)
		return 0;
	if (c->to > p->end)
		c->to = p->end;
	c->functions = dt_reader_functions(w->reader) + 1;
	c->function = calloc(c->functions, sizeof(*c->function));
	if (!c->function)
		return dt_window_no_memory(e);
	if ((edges && add_at(w, c, c->from, true, e) < 0) || add_at(w, c, c->to, false, e) < 0 ||
	    add_ended(w, c, from, e) < 0 || add_tracks(w, c, from, edges, e) < 0)
		return -1;
	add_stats(c);
	return c->stats.no_memory || c->ways.no_memory ? dt_window_no_memory(e) : 0;
}

void dt_clip_free(struct dt_clip *c)
{
	dt_stats_free(&c->stats);
	dt_way_sums_free(&c->ways);
	free(c->function);
	free(c->track);
}
