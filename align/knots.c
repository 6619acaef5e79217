/* SPDX-License-Identifier: MIT */
/*
 * Between two nodes a bound is the better of two lines, one from each: it is furthest off where
 * they meet. There is a knot, too, so that between knots all is straight.
 */
#include "align/knots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two nodes of a clock, and what is known at them. */
struct pair {
	int64_t x[2], low[2], high[2], drawn[2];
	double slowest, fastest; /* rates between them */
};

struct making {
	struct dt_aligned_clock *to;
	size_t room;
	bool failed;
};

#define ROUNDED 2 /* units by which sums along a clock are off: dt_net_rates() */

static int64_t early(int64_t x, int64_t low)
{
	return low <= -DT_NET_FAR ? DT_UNKNOWN_EARLY : x + low - ROUNDED;
}

static int64_t late(int64_t x, int64_t high)
{
	return high >= DT_NET_FAR ? DT_UNKNOWN_LATE : x + high + ROUNDED;
}

static void put(struct making *m, int64_t x, int64_t low, int64_t high, int64_t drawn)
{
	struct dt_aligned_clock *to = m->to;

	if (m->failed || (to->knots && to->knot[to->knots - 1].x >= x))
		return;
	if (to->knots == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		struct dt_knot *more = realloc(to->knot, room * sizeof(*more));

		if (!more) {
			m->failed = true;
			return;
		}
		to->knot = more;
		m->room = room;
	}
	to->knot[to->knots++] = (struct dt_knot){
		.x = x, .t = x + drawn, .early = early(x, low), .late = late(x, high)};
	to->known |= low > -DT_NET_FAR && high < DT_NET_FAR;
}

/* The bounds at a distance s after the first of the two nodes, rounded outwards. */
static int64_t low_at(const struct pair *p, double s)
{
	double d = (double)(p->x[1] - p->x[0]);

	if (p->low[0] <= -DT_NET_FAR || p->low[1] <= -DT_NET_FAR)
		return -DT_NET_FAR;
	return p->low[0] +
	       (int64_t)floor(fmax(s * p->slowest,
				   (double)(p->low[1] - p->low[0]) - (d - s) * p->fastest)) -
	       1;
}

static int64_t high_at(const struct pair *p, double s)
{
	double d = (double)(p->x[1] - p->x[0]);

	if (p->high[0] >= DT_NET_FAR || p->high[1] >= DT_NET_FAR)
		return DT_NET_FAR;
	return p->high[0] +
	       (int64_t)ceil(fmin(s * p->fastest,
				  (double)(p->high[1] - p->high[0]) - (d - s) * p->slowest)) +
	       1;
}

/* What is drawn is straight between the nodes. */
static int64_t drawn_at(const struct pair *p, double s)
{
	double d = (double)(p->x[1] - p->x[0]);

	return p->drawn[0] + (int64_t)floor((double)(p->drawn[1] - p->drawn[0]) * (s / d));
}

/* Adds knots where the lines of a bound meet, the earlier one first. */
static void put_between(struct making *m, const struct pair *p)
{
	double d = (double)(p->x[1] - p->x[0]), span = p->fastest - p->slowest, s[2];

	if (span <= 0 || d < 2)
		return;
	s[0] = ((double)(p->high[1] - p->high[0]) - p->slowest * d) / span;
	s[1] = ((double)(p->low[0] - p->low[1]) + p->fastest * d) / span;
	if (s[0] > s[1]) {
		double t = s[0];

		s[0] = s[1];
		s[1] = t;
	}
	for (int i = 0; i < 2; i++) {
		double at = floor(s[i]);

		if (at >= 1 && at <= d - 1)
			put(m, p->x[0] + (int64_t)at, low_at(p, at), high_at(p, at),
			    drawn_at(p, at));
		at++; /* it may lie between two units */
		if (at >= 1 && at <= d - 1)
			put(m, p->x[0] + (int64_t)at, low_at(p, at), high_at(p, at),
			    drawn_at(p, at));
	}
}

static int64_t far_sum(int64_t a, double more)
{
	return a <= -DT_NET_FAR || a >= DT_NET_FAR ? a : a + (int64_t)more;
}

/*
 * A cut: the clock stepped at some time between the two nodes. Until then it went on as before, and
 * from then on as after; so in between a bound is the worse of the two. The first knot is directly
 * after the node before, the last one directly before the node after.
 */
static void put_cut(struct making *m, const struct pair *p, const struct dt_stretch *before,
		    const struct dt_stretch *after)
{
	double d = (double)(p->x[1] - p->x[0]);

	if (d < 3)
		return;
	for (int i = 0; i < 2; i++) {
		double s = i ? d - 1 : 1;
		int64_t low = far_sum(p->low[0], floor(s * before->low) - 1),
			high = far_sum(p->high[0], ceil(s * before->high) + 1),
			low2 = far_sum(p->low[1], floor(-(d - s) * after->high) - 1),
			high2 = far_sum(p->high[1], ceil(-(d - s) * after->low) + 1);

		put(m, p->x[0] + (int64_t)s, low < low2 ? low : low2, high > high2 ? high : high2,
		    drawn_at(p, s));
	}
}

static bool is_inside(const struct dt_net *g, uint32_t clock, uint32_t node,
		      const struct dt_cut *cut, size_t cuts)
{
	return dt_cut_stretch(clock, g->x[node], cut, cuts) & 1;
}

/* Sets `likely' of all knots of a stretch without steps, which are [first, end). */
static void set_likely(struct dt_knot *knot, size_t first, size_t end)
{
	int64_t least = INT64_MAX;

	for (size_t i = first; i < end; i++)
		if (knot[i].early != DT_UNKNOWN_EARLY && knot[i].late != DT_UNKNOWN_LATE &&
		    knot[i].late - knot[i].early < least)
			least = knot[i].late - knot[i].early;
	for (size_t i = first; i < end && least < INT64_MAX; i++)
		if (knot[i].early != DT_UNKNOWN_EARLY && knot[i].late != DT_UNKNOWN_LATE)
			knot[i].likely = least / 3;
}

int dt_knots_make(struct dt_aligned_clock *to, uint32_t clock, const struct dt_net *g,
		  const int64_t *low, const int64_t *high, const int64_t *drawn,
		  const struct dt_cut *cut, size_t cuts)
{
	struct making m = {.to = to};
	uint32_t last = DT_NET_NONE; /* the node before */
	size_t from = 0;

	for (uint32_t i = g->first[clock]; i < g->first[clock + 1]; i++) {
		struct pair p;
		const struct dt_stretch *now = &g->of[g->stretch[i]], *before;

		if (is_inside(g, clock, i, cut, cuts))
			continue;
		if (last != DT_NET_NONE) {
			before = &g->of[g->stretch[last]];
			p = (struct pair){{g->x[last], g->x[i]},
					  {low[last], low[i]},
					  {high[last], high[i]},
					  {drawn[last], drawn[i]},
					  now->low,
					  now->high};
			if (now == before) {
				put_between(&m, &p);
			} else {
				set_likely(to->knot, from, to->knots);
				put_cut(&m, &p, before, now);
				from = to->knots;
			}
		}
		put(&m, g->x[i], low[i], high[i], drawn[i]);
		last = i;
	}
	set_likely(to->knot, from, to->knots);
	return m.failed ? -1 : 0;
}

static int64_t on_line(int64_t a, int64_t b, int64_t s, int64_t d, bool up)
{
	__int128 much = (__int128)(b - a) * s, part = much / d;

	if (up && part * d < much)
		part++;
	if (!up && part * d > much)
		part--;
	return a + (int64_t)part;
}

/* The clock's rate is not known outside its knots, and its time moves by 1 +- DT_ALIGN_RATE. */
static struct dt_knot outside(const struct dt_knot *k, int64_t x)
{
	int64_t d = x - k->x;
	int64_t more = (int64_t)ceil(fabs((double)d) * DT_ALIGN_RATE);
	struct dt_knot to = *k;

	to.x = x;
	to.t += d;
	if (k->early != DT_UNKNOWN_EARLY)
		to.early += d - more;
	if (k->late != DT_UNKNOWN_LATE)
		to.late += d + more;
	return to;
}

struct dt_knot dt_knots_place(const struct dt_knot *knot, size_t n, int64_t x)
{
	size_t low = 0, high = n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (knot[middle].x <= x)
			low = middle;
		else
			high = middle;
	}
	const struct dt_knot *a = &knot[low], *b = &knot[low + 1];
	if (x <= a->x || low + 1 == n)
		return x == a->x ? *a : outside(a, x);
	int64_t s = x - a->x, d = b->x - a->x;
	struct dt_knot to = {.x = x, .t = on_line(a->t, b->t, s, d, false)};
	bool early = a->early != DT_UNKNOWN_EARLY && b->early != DT_UNKNOWN_EARLY;
	bool late = a->late != DT_UNKNOWN_LATE && b->late != DT_UNKNOWN_LATE;

	to.early = early ? on_line(a->early, b->early, s, d, false) : DT_UNKNOWN_EARLY;
	to.late = late ? on_line(a->late, b->late, s, d, true) : DT_UNKNOWN_LATE;
	to.likely = a->likely < b->likely ? a->likely : b->likely;
	return to;
}
