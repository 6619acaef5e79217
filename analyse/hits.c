/* SPDX-License-Identifier: MIT */
/* Calls that are looked for. */
#include "analyse/hits.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/window-work.h"
#include "process/now.h"

static bool is_wanted(const struct dt_hits *h, uint32_t function, uint32_t flags)
{
	return function < h->functions && h->wanted[function] && !(flags & DT_CALL_NO_ENTRY);
}

/* ---- how many ---- */

static void count_region(struct dt_hits *h, const struct dt_stats *t, size_t region)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->functions && i < h->functions; i++) {
		if (!h->wanted[i])
			continue;
		h->calls[i] += t->function[i].calls;
		n += t->function[i].calls;
	}
	h->all += n;
	h->ending[region] = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Counts in a region that the pyramid has no sums of: the one that still grows. */
static int count_calls(struct dt_windows *w, const struct dt_region *r, struct dt_stats *t,
		       struct dt_error *e)
{
	int rc;

	w->call = dt_stats_call;
	w->ctx = t;
	w->from = 0;
	w->to = UINT64_MAX;
	rc = dt_window_read_regions(w, (size_t)(r - w->pyramid->region),
				    (size_t)(r - w->pyramid->region), UINT64_MAX,
				    w->filter && w->values, e);
	w->call = NULL;
	return rc;
}

int dt_hits_count(struct dt_hits *h, struct dt_windows *w, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	struct dt_stats t = {0};
	int rc = 0;

	free(h->calls);
	free(h->ending);
	h->all = 0;
	h->regions = p->regions;
	h->calls = calloc(h->functions + 1ul, sizeof(*h->calls));
	h->ending = calloc(p->regions + 1, sizeof(*h->ending));
	if (!h->calls || !h->ending)
		return dt_window_no_memory(e);
	for (size_t i = 0; rc == 0 && i < p->regions; i++) {
		const struct dt_region *r = &p->region[i];

		dt_stats_reset(&t);
		w->scratch.n = 0;
		if (!r->stats)
			rc = count_calls(w, r, &t, e);
		else if (dt_bars_load(p->bars, r->stats, &w->scratch, e) < 0)
			rc = -1;
		else if (dt_stats_add(&t, w->scratch.p, w->scratch.n,
				      dt_reader_functions(w->reader)) < 0)
			rc = dt_fail(e, "the summaries for the time line are damaged");
		if (rc == 0)
			count_region(h, &t, i);
	}
	for (size_t i = 0; i < p->lates; i++)
		if (is_wanted(h, p->late[i].function, p->late[i].flags)) {
			h->calls[p->late[i].function]++;
			h->all++;
		}
	if (rc == 0 && t.no_memory)
		rc = dt_window_no_memory(e);
	dt_stats_free(&t);
	return rc;
}

void dt_hits_free(struct dt_hits *h)
{
	free(h->calls);
	free(h->ending);
}

/* ---- one after the other ---- */

struct finding {
	struct dt_hits *h;
	struct dt_windows *w;
	uint64_t at;
	bool back, no_memory;
	uint64_t read_to; /* tick: where reading ended when open calls were taken */
	struct dt_hit_list *list;
};

#define END_UNKNOWN                                                                                \
	UINT64_MAX /* of a bar: the call was still open where reading ended, which is at `high' */

static void add(struct finding *f, uint32_t track, const struct dt_bar *bar)
{
	struct dt_hit_list *l = f->list;

	if (f->back ? bar->begin > f->at : bar->begin < f->at)
		return;
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 256;
		struct dt_hit *more = realloc(l->hit, room * sizeof(*more));

		if (!more) {
			f->no_memory = true;
			return;
		}
		l->hit = more;
		l->room = room;
	}
	l->hit[l->n++] = (struct dt_hit){track, *bar};
}

static struct dt_bar of_call(const struct dt_call *c)
{
	return (struct dt_bar){.begin = c->begin,
			       .end = c->end,
			       .count = 1,
			       .busy = dt_call_ticks(c),
			       .what = c->function,
			       .flags = c->flags,
			       .depth = c->depth};
}

static void add_call(struct finding *f, const struct dt_call *c, uint32_t id)
{
	const struct dt_track *t = dt_pyramid_track(f->w->pyramid, DT_TRACK_THREAD, id);
	struct dt_bar bar = of_call(c);

	if (t)
		add(f, (uint32_t)(t - f->w->pyramid->track), &bar);
}

/* Says which track a call is on: in interrupts it is that of the core where the call began. */
static uint32_t track_of(const struct dt_call *c)
{
	const uint32_t core = c->note ? *c->note & ((1u << DT_FEED_NOTE) - 1) : 0;

	return c->tid == DT_NO_TID ? DT_TRACK_NOBODY(core ? core - 1 : 0) : c->tid;
}

static void on_call(void *ctx, const struct dt_call *c)
{
	struct finding *f = ctx;

	/* what is open at the end of the trace is in the pyramid's list */
	if (is_wanted(f->h, c->function, c->flags) && !(c->flags & DT_CALL_OPEN))
		add_call(f, c, track_of(c));
}

static void on_open(void *ctx, const struct dt_open_call *x)
{
	struct finding *f = ctx;
	const struct dt_track *t = dt_pyramid_track(f->w->pyramid, DT_TRACK_THREAD, x->track);
	struct dt_bar bar = of_call(x->call);

	if (!t || !is_wanted(f->h, bar.what, bar.flags))
		return;
	bar.end = END_UNKNOWN;
	bar.high = f->read_to;
	add(f, (uint32_t)(t - f->w->pyramid->track), &bar);
}

static void take_open(struct finding *f, size_t region)
{
	f->read_to = f->w->pyramid->region[region].end - 1;
	dt_feed_each_open(f->w->feed, f->read_to, on_open, f);
}

/* Adds the calls that end in a region; open: and those that are open behind it. */
static int read_region(struct finding *f, size_t region, bool open, struct dt_error *e)
{
	struct dt_windows *w = f->w;
	int rc;

	w->call = on_call;
	w->ctx = f;
	w->from = 0;
	w->to = UINT64_MAX;
	rc = dt_window_read_regions(w, region, region, UINT64_MAX, w->filter && w->values, e);
	w->call = NULL;
	if (rc == 0 && open)
		take_open(f, region);
	return f->no_memory ? dt_window_no_memory(e) : rc;
}

static int in_order(const struct dt_hit *x, const struct dt_hit *y)
{
	if (x->bar.begin != y->bar.begin)
		return x->bar.begin < y->bar.begin ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->bar.depth != y->bar.depth)
		return x->bar.depth < y->bar.depth ? -1 : 1;
	return x->bar.end < y->bar.end ? -1 : x->bar.end > y->bar.end;
}

static int forwards(const void *a, const void *b)
{
	return in_order(a, b);
}

static int backwards(const void *a, const void *b)
{
	return in_order(b, a);
}

/* Finds how the i-th call, which was open where reading ended, goes on. 0: it is not wanted by the
 * filter, or in the list already. -1: error. */
static int complete(struct finding *f, size_t i, struct dt_bar_list *bars, struct dt_error *e)
{
	struct dt_hit *x = &f->list->hit[i];
	/* a short one is kept with the region in which it ends */
	const struct dt_window at = {
		.from = x->bar.high, .to = x->bar.high + 1, .depths = x->bar.depth + 1};

	if (dt_window_bars(f->w, x->track, &at, bars, e) < 0)
		return -1;
	for (size_t k = 0; k < bars->n; k++) {
		const struct dt_bar *b = &bars->bar[k];

		if (b->count != 1 || b->begin != x->bar.begin || b->depth != x->bar.depth ||
		    b->what != x->bar.what)
			continue;
		x->bar = *b;
		for (size_t j = i; j-- > 0 && f->list->hit[j].bar.begin == b->begin;)
			if (in_order(&f->list->hit[j], x) == 0)
				return 0;
		for (size_t j = i + 1; j < f->list->n && f->list->hit[j].bar.begin == b->begin; j++)
			if (in_order(&f->list->hit[j], x) == 0)
				return 0;
		return 1;
	}
	return 0;
}

/* Of a call that was open where reading ended, and is in the pyramid's list of those that are open
 * at the end of the trace, leaves the one of that list. They are sorted. */
static void drop_doubles(struct dt_hit_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct dt_hit *x = &l->hit[i], *y = n ? &l->hit[n - 1] : NULL;
		bool same = y && x->bar.begin == y->bar.begin && x->track == y->track &&
			    x->bar.depth == y->bar.depth && x->bar.what == y->bar.what;

		if (same && x->bar.end == END_UNKNOWN && (y->bar.flags & DT_CALL_OPEN))
			continue;
		if (same && y->bar.end == END_UNKNOWN && (x->bar.flags & DT_CALL_OPEN))
			n--;
		l->hit[n++] = *x;
	}
	l->n = n;
}

/* Sorts what was found, leaves n of it and what begins with the last one, and completes it. limit:
 * what begins beyond it may not have been found yet. *at: where to go on. */
static int conclude(struct finding *f, size_t n, uint64_t limit, bool ended, uint64_t *at,
		    struct dt_error *e)
{
	struct dt_hit_list *l = f->list;
	struct dt_bar_list bars = {0};
	size_t keep = 0, to;
	int rc = 0;

	if (l->n)
		qsort(l->hit, l->n, sizeof(*l->hit), f->back ? backwards : forwards);
	drop_doubles(l);
	while (!ended && l->n &&
	       (f->back ? l->hit[l->n - 1].bar.begin < limit : l->hit[l->n - 1].bar.begin > limit))
		l->n--;
	for (to = n < l->n ? n : l->n;
	     to && to < l->n && l->hit[to].bar.begin == l->hit[to - 1].bar.begin;)
		to++;
	if (to < l->n) {
		*at = l->hit[to].bar.begin;
		ended = false;
	} else if (!ended) {
		*at = f->back ? limit - 1 : limit + 1;
	}
	l->n = to;
	for (size_t i = 0; rc >= 0 && i < to; i++) {
		rc = l->hit[i].bar.end == END_UNKNOWN ? complete(f, i, &bars, e) : 1;
		if (rc > 0)
			l->hit[keep++] = l->hit[i];
	}
	l->n = keep;
	free(bars.bar);
	return rc < 0 ? -1 : !ended;
}

/*
 * A call that begins at `at' or later ends there or later. When a region has been read, all that
 * begin before its end are known: they have ended, or are open behind it.
 */
static int find_later(struct finding *f, size_t n, double seconds, uint64_t *at, struct dt_error *e)
{
	const struct dt_pyramid *p = f->w->pyramid;
	double begun = dt_now_s();

	for (size_t i = dt_pyramid_region(p, f->at); i < p->regions; i++) {
		size_t before = f->list->n;
		bool full;

		if (!f->h->ending[i])
			continue;
		if (read_region(f, i, false, e) < 0)
			return -1;
		full = f->list->n - before >= n || f->list->n >= n + p->lates;
		if (i + 1 < p->regions && (full || dt_now_s() - begun > seconds)) {
			take_open(f, i);
			if (f->no_memory)
				return dt_window_no_memory(e);
			return conclude(f, n, p->region[i].end - 1, false, at, e);
		}
	}
	return conclude(f, n, UINT64_MAX, true, at, e);
}

/* Returns whether at least n of those found begin at this tick or later. */
static bool has_since(const struct finding *f, uint64_t ticks, size_t n)
{
	size_t some = 0;

	for (size_t i = 0; i < f->list->n && some < n; i++)
		some += f->list->hit[i].bar.begin >= ticks;
	return some >= n;
}

/* What begins at `at' or earlier has ended in its region or an earlier one, or is open behind it:
 * so all that begin in a region or later are known when it has been read. */
static int find_earlier(struct finding *f, size_t n, double seconds, uint64_t *at,
			struct dt_error *e)
{
	const struct dt_pyramid *p = f->w->pyramid;
	size_t first = dt_pyramid_region(p, f->at);
	double begun = dt_now_s();

	for (size_t i = first + 1; i-- > 0;) {
		if (i < first && !f->h->ending[i])
			continue;
		if (i < first &&
		    (has_since(f, p->region[i].end, n + p->lates) || dt_now_s() - begun > seconds))
			return conclude(f, n, p->region[i].end, false, at, e);
		if (read_region(f, i, i == first, e) < 0)
			return -1;
	}
	return conclude(f, n, 0, true, at, e);
}

int dt_hits_find(struct dt_hits *h, struct dt_windows *w, uint64_t *at, bool back, size_t n,
		 double seconds, struct dt_hit_list *list, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	struct finding f = {.h = h, .w = w, .at = *at, .back = back, .list = list};

	list->n = 0;
	if (!p->regions || h->regions != p->regions || !h->all)
		return 0;
	for (size_t i = 0; i < p->lates; i++)
		if (is_wanted(h, p->late[i].function, p->late[i].flags))
			add_call(&f, &p->late[i], track_of(&p->late[i]));
	if (f.no_memory)
		return dt_window_no_memory(e);
	return back ? find_earlier(&f, n, seconds, at, e) : find_later(&f, n, seconds, at, e);
}
