/* SPDX-License-Identifier: MIT */
/* The bars of a track in a window: those of the pyramid, and short ones put together in cells. */
#include "analyse/window-work.h"

#include <stdlib.h>
#include <string.h>

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
			return dt_window_no_memory(e);
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

/* Adds the sums of this level; in a window that is wider than the trace, those of its highest one.
 * Between two regions that are both fine enough, nothing special is needed. */
static int add_summaries(struct dt_windows *w, uint32_t track, uint64_t from, uint64_t to,
			 struct dt_error *e)
{
	unsigned level = w->window->shift / 2, highest = dt_pyramid_highest(w->pyramid);
	struct dt_lane lane = {track, (uint8_t)(level < highest ? level : highest), false};

	return dt_bars_each(w->pyramid->bars, lane, from, to, on_window_bar, w, e);
}

static int add_shorts(struct dt_windows *w, uint32_t track, size_t region, struct dt_error *e)
{
	struct shorts *s = dt_window_shorts(w, region, e);

	if (!s)
		return -1;
	if (track >= w->pyramid->tracks)
		return 0;
	for (uint32_t i = s->first[track]; i < s->first[track + 1]; i++)
		if (!on_window_bar(w, &s->sorted[i]))
			return dt_window_no_memory(e);
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
		return dt_window_no_memory(e);
	drop_outside(w);
	return sort_bars(w) < 0 ? dt_window_no_memory(e) : 0;
}
