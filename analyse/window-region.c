/* SPDX-License-Identifier: MIT */
/* A region of a trace, from its records: the bars that are too short for the pyramid, and calls. */
#include "analyse/window-work.h"

#include <stdlib.h>
#include <string.h>

static void on_bar(void *ctx, enum dt_track_kind kind, uint32_t id, const struct dt_bar *x)
{
	struct dt_windows *w = ctx;
	const struct dt_track *t;

	if (!w->filling || x->end - x->begin >= w->limit)
		return;
	if (w->in_tail && dt_pyramid_meet(w->pyramid, kind, id, x) < 0)
		w->no_memory = true;
	t = dt_pyramid_track(w->pyramid, kind, id);
	if (!t)
		return;
	if (w->bars == w->bar_room) {
		size_t room = w->bar_room ? 2 * w->bar_room : 4096;
		struct short_bar *more = realloc(w->bar, room * sizeof(*more));

		if (!more) {
			w->no_memory = true;
			return;
		}
		w->bar = more;
		w->bar_room = room;
	}
	w->bar[w->bars++] = (struct short_bar){(uint32_t)(t - w->pyramid->track), *x};
}

static void on_call(void *ctx, const struct dt_call *c)
{
	struct dt_windows *w = ctx;

	if (w->call && c->end >= w->from && c->end <= w->to)
		w->call(w->ctx, c);
}

static void on_wait(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		    bool preempted, const char *what, const struct dt_wait_ended *ended)
{
	struct dt_windows *w = ctx;

	if (w->wait && end >= w->from && end <= w->to)
		w->wait(w->ctx, tid, c, begin, end, preempted, what, ended);
}

int dt_windows_feed(struct dt_windows *w)
{
	struct dt_feed_to to = {.bar = on_bar,
				.call = on_call,
				.wait = on_wait,
				.ctx = w,
				.ways = &w->pyramid->ways};

	/* values are for calls that are asked for one by one */
	w->feed = dt_feed_new(w->reader, &to, true, w->filter);
	return w->feed ? 0 : -1;
}

/* Sets the feed to the state at the beginning of a region. */
static int restore(struct dt_windows *w, const struct dt_region *r, struct dt_error *e)
{
	w->scratch.n = 0;
	if (r->snapshot && dt_bars_load(w->pyramid->bars, r->snapshot, &w->scratch, e) < 0)
		return -1;
	return dt_feed_restore(w->feed, w->scratch.p, w->scratch.n)
		       ? dt_fail(e, "the summaries for the time line are damaged")
		       : 0;
}

/* Feeds the records of regions `first' to `last', up to tick `to'. */
int dt_window_read_regions(struct dt_windows *w, size_t first, size_t last, uint64_t to,
			   bool values, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	const struct dt_region *r = &p->region[first], *end = &p->region[last];
	struct dt_reader_range range = {.order = p->live ? DT_BY_TIME : dt_feed_order(w->reader),
					.values = values,
					.from = r->begin};
	struct dt_span s;
	int rc;

	range.to = end->end - 1 < to ? end->end - 1 : to;
	if (restore(w, r, e) < 0 || dt_reader_start(w->reader, &range, e) < 0)
		return -1;
	while ((rc = dt_reader_next(w->reader, &s, e)) > 0)
		if (dt_feed_span(w->feed, &s) < 0)
			return dt_window_no_memory(e);
	return rc < 0 ? -1 : w->no_memory ? dt_window_no_memory(e) : 0;
}

/* Sorts the short bars by track, and within a track leaves them in the order in which they came. */
static int sort_shorts(const struct dt_windows *w, struct shorts *s)
{
	uint32_t tracks = w->pyramid->tracks, *at;

	free(s->first);
	free(s->sorted);
	s->n = w->bars;
	s->sorted = malloc((s->n + 1) * sizeof(*s->sorted));
	s->first = calloc(tracks + 2, sizeof(*s->first));
	at = s->first ? s->first + 1 : NULL;
	if (!s->sorted || !at)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		at[w->bar[i].track]++;
	for (uint32_t t = 1; t <= tracks; t++)
		at[t] += at[t - 1];
	/* at[t] is where track t ends: filled from the end, it becomes where it begins */
	for (size_t i = s->n; i-- > 0;)
		s->sorted[--at[w->bar[i].track]] = w->bar[i].bar;
	memmove(s->first, at, tracks * sizeof(*at));
	s->first[tracks] = (uint32_t)s->n;
	return 0;
}

struct shorts *dt_window_shorts(struct dt_windows *w, size_t region, struct dt_error *e)
{
	const struct dt_region *r = &w->pyramid->region[region];
	struct shorts *s = &w->cache[0];
	int rc;

	for (unsigned i = 0; i < CACHED; i++) {
		struct shorts *x = &w->cache[i];

		if (x->region == region + 1 && x->records == r->records && x->level == r->level) {
			x->used = ++w->clock;
			return x;
		}
		/* the tail has grown: reuse its old place */
		if (x->region == region + 1)
			x->used = 0;
		if (x->used < s->used)
			s = x;
	}
	s->region = 0;
	w->bars = 0;
	w->filling = true;
	w->limit = 1ull << 2 * r->level;
	w->call = NULL;
	w->in_tail = w->pyramid->tail && region + 1 == w->pyramid->regions;
	rc = dt_window_read_regions(w, region, region, UINT64_MAX, w->values, e);
	/* calls that are open in the tail are drawn up to its end */
	if (rc == 0 && w->in_tail)
		dt_feed_finish(w->feed);
	w->filling = false;
	w->in_tail = false;
	if (rc < 0)
		return NULL;
	if (sort_shorts(w, s) < 0) {
		dt_window_no_memory(e);
		return NULL;
	}
	s->region = region + 1;
	s->records = r->records;
	s->level = r->level;
	s->used = ++w->clock;
	return s;
}

int dt_windows_tail(struct dt_windows *w, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;

	return !p->tail || dt_window_shorts(w, p->regions - 1, e) ? 0 : -1;
}
