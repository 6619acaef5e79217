/* SPDX-License-Identifier: MIT */
/* What all tracks have between two times: bars one by one, and their sums. */
#include "analyse/window-work.h"

#include <stdlib.h>
#include <string.h>

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
		s = dt_window_shorts(w, i, e);
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
