/* SPDX-License-Identifier: MIT */
/* Windows of a trace. */
#include "analyse/meanings.h"
#include "analyse/window.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/snapshot.h"

#define CACHED 4	  /* regions whose short bars are kept in memory */
#define CELLS  (1u << 26) /* the most cells of a window, over all depths */

/* A bar of a region, and its track. */
struct short_bar {
	uint32_t track;
	struct dt_bar bar;
};

/* The bars of a region that are too short for the pyramid, by track, in the order of their ends. */
struct shorts {
	size_t region; /* index plus one; 0: none */
	uint64_t used, records;
	uint8_t level; /* level of the region when it was read */
	size_t n;
	uint32_t *first; /* by track: index of its first bar in sorted; one more at the end */
	struct dt_bar *sorted;
};

struct dt_windows {
	struct dt_pyramid *pyramid;
	struct dt_reader *reader;
	struct dt_filter
		*filter; /* a filter with the pyramid's text, for this reader; NULL: none */
	struct dt_feed *feed;
	bool values, no_memory;
	bool in_tail; /* the region that is being read is the pyramid's tail */
	struct shorts cache[CACHED];
	uint64_t clock;
	/* where the feed's bars and calls go */
	bool filling; /* into `bar': those that are too short for the pyramid, in the order in which
			 they come */
	struct short_bar *bar;
	size_t bars, bar_room;
	uint64_t limit; /* bars shorter than this, in ticks, are short ones */
	void (*call)(void *ctx, const struct dt_call *c);
	void *ctx;
	uint64_t from, to; /* ticks: calls that end in between go to `call' */
	/* the window being made */
	const struct dt_window *window;
	struct dt_bar_list *list;
	int32_t *cell; /* by depth and cell: index in list, -1: none */
	size_t cells, cell_room;
	uint32_t depths; /* depths for which there are cells */
	uint64_t first_cell;
	struct dt_bytes scratch;
};

static int no_memory(struct dt_error *e)
{
	return dt_fail(e, "out of memory for the time line");
}

unsigned dt_window_shift(uint64_t from, uint64_t to, unsigned cells)
{
	unsigned shift = 0;

	while (shift < 62 && ((to - from) >> shift) >= cells)
		shift++;
	return shift;
}

/* ---- a region from its records ---- */

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
static int read_regions(struct dt_windows *w, size_t first, size_t last, uint64_t to, bool values,
			struct dt_error *e)
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
			return no_memory(e);
	return rc < 0 ? -1 : w->no_memory ? no_memory(e) : 0;
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

static struct shorts *region_shorts(struct dt_windows *w, size_t region, struct dt_error *e)
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
	rc = read_regions(w, region, region, UINT64_MAX, w->values, e);
	/* calls that are open in the tail are drawn up to its end */
	if (rc == 0 && w->in_tail)
		dt_feed_finish(w->feed);
	w->filling = false;
	w->in_tail = false;
	if (rc < 0)
		return NULL;
	if (sort_shorts(w, s) < 0) {
		no_memory(e);
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

	return !p->tail || region_shorts(w, p->regions - 1, e) ? 0 : -1;
}

/* ---- bars ---- */

static int append(struct dt_windows *w, const struct dt_bar *x)
{
	struct dt_bar_list *l = w->list;

	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 1024;
		struct dt_bar *more = realloc(l->bar, room * sizeof(*more));

		if (!more) {
			w->no_memory = true;
			return -1;
		}
		l->bar = more;
		l->room = room;
	}
	l->bar[l->n++] = *x;
	return 0;
}

/*
 * Takes a bar of the pyramid, of one call or summed up, into the window's list or one of its cells.
 */
static bool on_window_bar(void *ctx, const struct dt_bar *x)
{
	struct dt_windows *w = ctx;
	unsigned shift = w->window->shift;
	struct dt_bar *to;
	uint64_t index;
	int32_t *cell;

	/* deeper than the track says: damage */
	if (x->depth >= w->depths)
		return true;
	if (x->count == 1 && x->end - x->begin >= 1ull << shift) {
		if (x->begin <= w->window->to && x->end >= w->window->from)
			append(w, x);
		return !w->no_memory;
	}
	index = (x->end >> shift) - w->first_cell;
	if (index >= w->cells)
		return true;
	cell = &w->cell[x->depth * w->cells + index];
	if (*cell < 0) {
		*cell = (int32_t)w->list->n;
		append(w, x);
		return !w->no_memory;
	}
	to = &w->list->bar[*cell];
	/* which function took most is known only as well as the parts say */
	if (to->what == x->what) {
		to->most += x->most;
	} else if (x->most > to->most) {
		to->what = x->what;
		to->most = x->most;
	}
	dt_bar_join(to, x);
	return true;
}

/* Makes a cell for each depth and place, from the cell of `from' to the one after that of `to'. */
static int make_cells(struct dt_windows *w, uint32_t depths, struct dt_error *e)
{
	const struct dt_window *x = w->window;
	size_t n;

	w->first_cell = x->from >> x->shift;
	w->cells = (size_t)((x->to >> x->shift) - w->first_cell) + 2;
	if (x->depths && x->depths < depths)
		depths = x->depths;
	w->depths = depths;
	n = w->cells * ((size_t)depths + 1);
	if (n > CELLS)
		return dt_fail(
			e, "%u calls in each other are too many to be shown in %zu places at once",
			depths, w->cells);
	if (n > w->cell_room) {
		int32_t *more = realloc(w->cell, n * sizeof(*more));

		if (!more)
			return no_memory(e);
		w->cell = more;
		w->cell_room = n;
	}
	memset(w->cell, 0xff, n * sizeof(*w->cell));
	return 0;
}

/* Adds the bars that are kept by themselves at the levels of this window, and those that were open
 * at the end. */
static int add_singles(struct dt_windows *w, uint32_t track, struct dt_error *e)
{
	const struct dt_window *x = w->window;

	for (unsigned level = x->shift / 2; level < DT_LATE_LEVEL; level++) {
		/*
		 * a bar can end so long after the window; short ones are counted in a cell after it
		 */
		uint64_t more = level >= 31 ? UINT64_MAX : 4ull << 2 * level;
		uint64_t to = x->to + more < x->to ? UINT64_MAX : x->to + more;
		uint64_t from = x->from >> x->shift << x->shift;

		if (dt_bars_each(w->pyramid->bars, (struct dt_lane){track, (uint8_t)level, true},
				 from, to, on_window_bar, w, e) < 0)
			return -1;
	}
	/* these are few */
	return dt_bars_each(w->pyramid->bars, (struct dt_lane){track, DT_LATE_LEVEL, true}, 0,
			    UINT64_MAX, on_window_bar, w, e);
}

/* Adds the sums of this level. Between two regions that are both fine enough, nothing special is
 * needed. */
static int add_summaries(struct dt_windows *w, uint32_t track, uint64_t from, uint64_t to,
			 struct dt_error *e)
{
	return dt_bars_each(w->pyramid->bars,
			    (struct dt_lane){track, (uint8_t)(w->window->shift / 2), false}, from,
			    to, on_window_bar, w, e);
}

static int add_shorts(struct dt_windows *w, uint32_t track, size_t region, struct dt_error *e)
{
	struct shorts *s = region_shorts(w, region, e);

	if (!s)
		return -1;
	if (track >= w->pyramid->tracks)
		return 0;
	for (uint32_t i = s->first[track]; i < s->first[track + 1]; i++)
		if (!on_window_bar(w, &s->sorted[i]))
			return no_memory(e);
	return 0;
}

static int add_regions(struct dt_windows *w, uint32_t track, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	const struct dt_window *x = w->window;
	uint64_t from = w->first_cell << x->shift, to = from + (w->cells << x->shift) - 1;
	size_t first = dt_pyramid_region(p, from);

	if (to < from)
		to = UINT64_MAX;
	for (size_t i = first, n; i < p->regions && p->region[i].begin <= to; i += n) {
		uint64_t begin = i ? p->region[i].begin : 0, end;
		int rc;

		/* successive regions that are fine enough are taken together: there can be
		 * thousands */
		for (n = 0; i + n < p->regions && p->region[i + n].begin <= to &&
			    2u * p->region[i + n].level <= x->shift;)
			n++;
		if (n) {
			end = i + n < p->regions ? p->region[i + n - 1].end - 1 : UINT64_MAX;
			rc = add_summaries(w, track, begin > from ? begin : from,
					   end < to ? end : to, e);
		} else {
			rc = add_shorts(w, track, i, e);
			n = 1;
		}
		if (rc < 0)
			return -1;
	}
	/* what ends in the tail is kept nowhere else, however long it is */
	if (p->tail && p->region[p->regions - 1].begin > to)
		return add_shorts(w, track, p->regions - 1, e);
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct dt_bar *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Drops bars that lie outside: cells at the edges may have nothing inside the window. */
static void drop_outside(struct dt_windows *w)
{
	struct dt_bar_list *l = w->list;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->bar[i].end >= w->window->from && l->bar[i].begin <= w->window->to)
			l->bar[n++] = l->bar[i];
	l->n = n;
}

/* Merges two sorted runs, [0, n) and [n, all), into one. */
static void merge_runs(struct dt_bar *to, const struct dt_bar *from, size_t n, size_t all)
{
	size_t i = 0, k = n;

	while (i < n && k < all)
		*to++ = by_begin(&from[i], &from[k]) <= 0 ? from[i++] : from[k++];
	memcpy(to, from + i, (n - i) * sizeof(*to));
	memcpy(to + (n - i), from + k, (all - k) * sizeof(*to));
}

/*
 * Sorts the bars by depth, then by their begin. Within a depth they come level by level, each in
 * that order: first those that are kept by themselves, few in a wide window, then all cells.
 */
static int sort_bars(struct dt_windows *w)
{
	struct dt_bar_list *l = w->list;
	size_t *end = l->n ? calloc(w->depths + 1, sizeof(*end)) : NULL, begin = 0;
	struct dt_bar *part = l->n ? malloc(l->n * sizeof(*part)) : NULL;

	if (!l->n)
		return 0;
	if (!end || !part) {
		free(end);
		free(part);
		return -1;
	}
	for (size_t i = 0; i < l->n; i++)
		end[l->bar[i].depth + 1]++;
	for (uint32_t d = 0; d < w->depths; d++)
		end[d + 1] += end[d];
	/* end[d] is where depth d begins; filled, it becomes where it ends */
	for (size_t i = 0; i < l->n; i++)
		part[end[l->bar[i].depth]++] = l->bar[i];
	for (uint32_t d = 0; d < w->depths; begin = end[d++]) {
		size_t last = end[d];

		while (last > begin + 1 && by_begin(&part[last - 2], &part[last - 1]) <= 0)
			last--;
		last -= last > begin; /* now it is where the last run begins */
		qsort(part + begin, last - begin, sizeof(*part), by_begin);
		merge_runs(l->bar + begin, part + begin, last - begin, end[d] - begin);
	}
	free(end);
	free(part);
	return 0;
}

int dt_window_bars(struct dt_windows *w, uint32_t track, const struct dt_window *window,
		   struct dt_bar_list *list, struct dt_error *e)
{
	list->n = 0;
	if (track >= w->pyramid->tracks || !w->pyramid->regions || window->to < window->from)
		return 0;
	w->window = window;
	w->list = list;
	w->no_memory = false;
	if (make_cells(w, w->pyramid->track[track].depths, e) < 0)
		return -1;
	if (add_singles(w, track, e) < 0 || add_regions(w, track, e) < 0)
		return -1;
	if (w->no_memory)
		return no_memory(e);
	drop_outside(w);
	return sort_bars(w) < 0 ? no_memory(e) : 0;
}

/* ---- bars one by one ---- */

struct each {
	uint64_t from, to;
	bool begins, stopped;
	uint32_t track;
	bool (*fn)(void *ctx, uint32_t track, const struct dt_bar *bar);
	void *ctx;
};

static bool on_each(void *ctx, const struct dt_bar *x)
{
	struct each *each = ctx;
	uint64_t at = each->begins ? x->begin : x->end;

	if (at >= each->from && at <= each->to && !each->fn(each->ctx, each->track, x))
		each->stopped = true;
	return !each->stopped;
}

/* Passes on the bars that are kept by themselves: they are at the levels from the finest of any
 * region up. */
static int each_single(struct dt_windows *w, struct each *each, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	unsigned finest = DT_LATE_LEVEL;

	for (size_t i = 0; i < p->regions; i++)
		finest = p->region[i].level < finest ? p->region[i].level : finest;
	for (each->track = 0; each->track < p->tracks; each->track++)
		for (unsigned level = finest; level <= DT_LATE_LEVEL && !each->stopped; level++) {
			uint64_t more = level >= 31 ? UINT64_MAX : 4ull << 2 * level, to = each->to,
				 from = each->from;

			if (level == DT_LATE_LEVEL)
				from = 0, to = UINT64_MAX;
			else if (each->begins)
				to = to + more < to ? UINT64_MAX : to + more;
			if (dt_bars_each(p->bars,
					 (struct dt_lane){each->track, (uint8_t)level, true}, from,
					 to, on_each, each, e) < 0)
				return -1;
		}
	return 0;
}

int dt_window_each(struct dt_windows *w, uint64_t from, uint64_t to, bool begins,
		   bool (*fn)(void *ctx, uint32_t track, const struct dt_bar *bar), void *ctx,
		   struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	struct each each = {.from = from, .to = to, .begins = begins, .fn = fn, .ctx = ctx};

	if (!p->regions || to < from)
		return 0;
	for (size_t i = dt_pyramid_region(p, from); i < p->regions && !each.stopped; i++) {
		const struct dt_region *r = &p->region[i];
		uint64_t limit = 1ull
				 << 2 * r->level; /* bars of this length are kept by themselves */
		struct shorts *s;

		/* its short bars may have begun in an earlier region */
		if (r->begin > to && (!begins || r->begin - to > limit))
			continue;
		s = region_shorts(w, i, e);
		if (!s)
			return -1;
		for (each.track = 0; each.track < p->tracks && !each.stopped; each.track++)
			for (uint32_t k = s->first[each.track]; k < s->first[each.track + 1]; k++)
				if (!on_each(&each, &s->sorted[k]))
					break;
	}
	return each.stopped ? 0 : each_single(w, &each, e);
}

/* ---- sums of tracks ---- */

static bool add_sum(void *ctx, uint32_t track, const struct dt_bar *x)
{
	struct dt_track_sum *sum = (struct dt_track_sum *)ctx + track;

	sum->low = !sum->count || x->low < sum->low ? x->low : sum->low;
	sum->high = !sum->count || x->high > sum->high ? x->high : sum->high;
	sum->count += x->count;
	sum->busy += x->depth ? 0 : x->busy;
	return true;
}

/* Returns into how many parts a sum is cut: fewer if there are so many depths that each part costs
 * much. */
static unsigned places(const struct dt_pyramid *p)
{
	unsigned n = 1024;
	uint64_t depths = 0;

	for (uint32_t t = 0; t < p->tracks; t++)
		depths = p->track[t].depths > depths ? p->track[t].depths : depths;
	while (n > 16 && (n + 2) * (depths + 1) > CELLS / 2)
		n /= 2;
	return n;
}

/* The middle consists of whole cells; what ends in the rest, on both sides, is taken bar by bar. */
int dt_window_sums(struct dt_windows *w, uint64_t from, uint64_t to, struct dt_track_sum *sum,
		   struct dt_error *e)
{
	struct dt_window middle = {.shift = dt_window_shift(from, to, places(w->pyramid))};
	uint64_t begin = ((from - 1) >> middle.shift) + 1, end = (to + 1) >> middle.shift;
	struct dt_bar_list list = {0};
	int rc = 0;

	memset(sum, 0, w->pyramid->tracks * sizeof(*sum));
	if (begin >= end || !from)
		return dt_window_each(w, from, to, false, add_sum, sum, e);
	middle.from = begin << middle.shift;
	middle.to = (end << middle.shift) - 1;
	for (uint32_t t = 0; rc == 0 && t < w->pyramid->tracks; t++) {
		rc = dt_window_bars(w, t, &middle, &list, e);
		for (size_t i = 0; rc == 0 && i < list.n; i++)
			if (list.bar[i].end >= middle.from && list.bar[i].end <= middle.to)
				add_sum(sum, t, &list.bar[i]);
	}
	free(list.bar);
	if (rc == 0 && from < middle.from)
		rc = dt_window_each(w, from, middle.from - 1, false, add_sum, sum, e);
	if (rc == 0 && to > middle.to)
		rc = dt_window_each(w, middle.to + 1, to, false, add_sum, sum, e);
	return rc;
}

/* ---- calls ---- */

int dt_window_calls(struct dt_windows *w, uint64_t from, uint64_t to,
		    void (*fn)(void *ctx, const struct dt_call *c), void *ctx, struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	int rc;

	if (!p->regions || to < from)
		return 0;
	w->call = fn;
	w->ctx = ctx;
	w->from = from;
	w->to = to;
	rc = read_regions(w, dt_pyramid_region(p, from), dt_pyramid_region(p, to), to, true, e);
	w->call = NULL;
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
	rc = read_regions(w, region, region, to, w->filter && w->values, e);
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
	return s->no_memory ? no_memory(e) : 0;
}

/* ---- the whole ---- */

struct dt_windows *dt_windows_new(struct dt_pyramid *p, const char *path, struct dt_error *e)
{
	struct dt_windows *w = calloc(1, sizeof(*w));
	struct dt_feed_to to = {.bar = on_bar, .call = on_call, .ctx = w};

	if (!w) {
		no_memory(e);
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
	/* values are for calls that are asked for one by one */
	w->feed = dt_feed_new(w->reader, &to, true, w->filter);
	if (w->feed)
		return w;
	no_memory(e);
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
