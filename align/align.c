/* SPDX-License-Identifier: MIT */
/*
 * Alignment in two passes: with the rates that any crystal has, which finds contradictions and, by
 * the bounds that follow, what each clock's rate really is; and again with those rates and what
 * they may wander.
 */
#include "align/align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "align/contradict.h"
#include "align/knots.h"
#include "align/rate.h"

/* The bounds of each node's value that follow from all constraints. */
struct bounds {
	int64_t *low, *high; /* -FAR, FAR: none */
};

static bool find_bounds(struct dt_net *g, const struct bounds *to)
{
	uint32_t at;

	for (int backward = 0; backward < 2; backward++) {
		for (uint32_t i = 0; i < g->nodes; i++)
			g->value[i] = g->of[g->stretch[i]].clock == g->reference ? 0 : DT_NET_FAR;
		if (!dt_net_relax(g, backward, &at))
			return false;
		for (uint32_t i = 0; i < g->nodes; i++)
			if (backward)
				to->low[i] = -g->value[i];
			else
				to->high[i] = g->value[i];
	}
	return true;
}

/* Replaces bounds by their negatives, the other way round. */
static void mirror(int64_t *low, int64_t *high, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t l = low[i];

		low[i] = -high[i];
		high[i] = -l;
	}
}

/* Bounds the rate of each stretch by the bounds of its nodes, and how much a rate may wander. */
static void set_rates(struct dt_net *g, const struct bounds *b, double rate, double wander,
		      size_t *room)
{
	for (uint32_t k = 0; k < g->stretches; k++) {
		struct dt_stretch *s = &g->of[k];
		int64_t *low = b->low + s->first, *high = b->high + s->first;
		size_t n = s->end - s->first;

		if (s->clock == g->reference)
			continue;
		double most = dt_rate_most(g->x + s->first, low, high, n, room);
		mirror(low, high, n);
		double least = -dt_rate_most(g->x + s->first, low, high, n, room);
		mirror(low, high, n);
		s->high = fmin(rate, most + 2 * wander);
		s->low = fmax(-rate, least - 2 * wander);
		if (s->low > s->high) { /* the second pass will not be possible */
			double middle = (s->low + s->high) / 2;

			s->low = s->high = fmin(fmax(middle, -rate), rate);
		}
	}
	dt_net_rates(g);
}

/* Finds rates by bounds that the first pass has found, with the least wander with which all
 * constraints can be met. */
static void narrow_rates(struct dt_net *g, const struct bounds *b, double rate, double *wander,
			 size_t *room)
{
	uint32_t at;

	for (; *wander < rate; *wander *= 2) {
		set_rates(g, b, rate, *wander, room);
		if (dt_net_possible(g, &at))
			return;
	}
	*wander = rate;
	set_rates(g, b, rate, rate, room);
}

/* Gives the value in the middle of its bounds to each node that has both, else the one it has.
 * Returns how many got one. */
static uint32_t settle(struct dt_net *g, const struct bounds *b, int64_t *drawn)
{
	uint32_t n = 0;
	bool both = false;

	for (uint32_t i = 0; i < g->nodes; i++)
		both |= drawn[i] == DT_NET_FAR && b->low[i] > -DT_NET_FAR &&
			b->high[i] < DT_NET_FAR;
	for (int want = 0; want < 3 && !n; want++)
		for (uint32_t i = 0; i < g->nodes; i++) {
			bool low = b->low[i] > -DT_NET_FAR, high = b->high[i] < DT_NET_FAR;

			if (drawn[i] != DT_NET_FAR || !(want == 0   ? low && high
							: want == 1 ? low && !both
								    : high && !both))
				continue;
			/* halves are rounded downwards: so no constraint is hurt */
			drawn[i] = want == 0   ? (b->low[i] + b->high[i]) >> 1
				   : want == 1 ? b->low[i]
					       : b->high[i];
			n++;
		}
	return n;
}

/*
 * Chooses a value for each node so that all constraints are met: the middles of bounds are (both
 * bounds are, each as a whole, and what lies in the middle of two solutions is one), and then those
 * that follow from nodes that have one. Where nothing is known, a clock is where it is said to be.
 */
static bool draw(const struct dt_case *c, struct dt_net *g, const struct bounds *first,
		 const struct bounds *room, int64_t *drawn)
{
	uint32_t at, next = 0;

	for (uint32_t i = 0; i < g->nodes; i++)
		drawn[i] = DT_NET_FAR;
	settle(g, first, drawn);
	for (;;) {
		for (; next < g->nodes && drawn[next] != DT_NET_FAR; next++)
			;
		if (next == g->nodes)
			return true;
		for (int backward = 0; backward < 2; backward++) {
			for (uint32_t i = 0; i < g->nodes; i++)
				g->value[i] = drawn[i] == DT_NET_FAR ? DT_NET_FAR
					      : backward	     ? -drawn[i]
								     : drawn[i];
			if (!dt_net_relax(g, backward, &at))
				return false;
			for (uint32_t i = 0; i < g->nodes; i++)
				if (backward)
					room->low[i] = -g->value[i];
				else
					room->high[i] = g->value[i];
		}
		if (!settle(g, room, drawn))
			drawn[next] = c->clock[g->of[g->stretch[next]].clock].hint;
	}
}

static int check_input(const struct dt_align_clock *clock, uint32_t clocks, uint32_t reference,
		       const struct dt_evidence *v, size_t n, struct dt_error *e)
{
	if (!clocks || clocks > DT_ALIGN_CLOCKS || reference >= clocks || n >= UINT32_MAX / 4)
		return dt_fail(e, "%u clocks, of which %u is the reference: that is not possible",
			       clocks, reference);
#define FAR(x) ((x) > DT_ALIGN_LIMIT || (x) < -DT_ALIGN_LIMIT)
	for (uint32_t c = 0; c < clocks; c++)
		if (FAR(clock[c].begin) || FAR(clock[c].end) || FAR(clock[c].hint) ||
		    clock[c].begin > clock[c].end)
			return dt_fail(e, "a trace's times are half a year or more apart");
	for (size_t i = 0; i < n; i++)
		if (v[i].a >= clocks || v[i].b >= clocks || v[i].a == v[i].b || FAR(v[i].xa) ||
		    FAR(v[i].xb) || FAR(v[i].slack))
			return dt_fail(e, "evidence about the clocks is half a year or more off");
	return 0;
}

/* Says by how much each step is, as it is drawn; and whether there may be none. */
static void size_steps(const struct dt_case *c, const struct dt_net *g, const struct bounds *b,
		       const int64_t *drawn)
{
	for (size_t i = 0; i < c->contradictions; i++) {
		struct dt_contradiction *d = &c->contradiction[i];

		if (d->kind != DT_CONTRADICTION_STEP)
			continue;
		uint32_t node = dt_net_node(g, d->clock, d->from), after = node + 1;

		while (after + 1 < g->first[d->clock + 1] && g->x[after] < d->to)
			after++;
		if (after == g->first[d->clock + 1])
			continue;
		d->step = drawn[node] - drawn[after];
		int64_t drift = (int64_t)((double)(d->to - d->from) * c->rate) + 1;
		if (b->low[node] - drift <= b->high[after] &&
		    b->low[after] <= b->high[node] + drift)
			d->kind = DT_CONTRADICTION_PERHAPS;
	}
}

/* Fills in the result from the net, after the second pass. */
static int finish(struct dt_align *to, struct dt_case *c, struct dt_net *g, const struct bounds *b,
		  const int64_t *drawn)
{
	to->fate = calloc(c->n + 1, sizeof(*to->fate));
	if (!to->fate)
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (c->believed[i]) {
			to->clock[c->evidence[i].a].used++;
			to->clock[c->evidence[i].b].used++;
		}
	for (size_t i = 0; i < c->n; i++)
		if (!c->believed[i])
			to->fate[i] = DT_FATE_NOT_USED;
	for (uint32_t i = 0; i < g->edges; i++) {
		to->fate[g->edge[i].evidence] = DT_FATE_DECIDES;
		to->clock[c->evidence[g->edge[i].evidence].a].decided++;
		to->clock[c->evidence[g->edge[i].evidence].b].decided++;
	}
	for (uint32_t k = 0; k < to->clocks; k++)
		if (dt_knots_make(&to->clock[k], k, g, b->low, b->high, drawn, c->cut, c->cuts))
			return -1;
	/* the reference is itself: one line */
	struct dt_aligned_clock *r = &to->clock[c->reference];
	if (r->knots > 2) {
		r->knot[1] = r->knot[r->knots - 1];
		r->knots = 2;
	}
	size_steps(c, g, b, drawn);
	to->contradiction = c->contradiction;
	to->contradictions = c->contradictions;
	c->contradiction = NULL;
	return 0;
}

static int run(struct dt_align *to, struct dt_case *c, const struct dt_align_assumed *assumed,
	       struct dt_error *e)
{
	struct dt_net *g = dt_case_settle(c, e);
	struct bounds b = {0}, more = {0};
	int64_t *drawn = NULL;
	size_t *room = NULL;
	int rc = -1;

	if (!g)
		return -1;
	b = (struct bounds){malloc(g->nodes * 8), malloc(g->nodes * 8)};
	more = (struct bounds){malloc(g->nodes * 8), malloc(g->nodes * 8)};
	drawn = malloc(g->nodes * 8);
	room = malloc(g->nodes * sizeof(*room));
	to->net = g;
	if (!b.low || !b.high || !more.low || !more.high || !drawn || !room)
		goto memory;
	if (find_bounds(g, &b)) {
		narrow_rates(g, &b, assumed->rate, &to->wander, room);
		if (find_bounds(g, &b) && draw(c, g, &b, &more, drawn)) {
			rc = finish(to, c, g, &b, drawn);
			if (rc)
				goto memory;
			goto out;
		}
	}
	dt_fail(e, "the evidence cannot be met, which cannot be: please report it");
	goto out;
memory:
	dt_fail(e, "out of memory");
out:
	free(b.low);
	free(b.high);
	free(more.low);
	free(more.high);
	free(drawn);
	free(room);
	return rc;
}

struct dt_align *dt_align_new(const struct dt_align_clock *clock, uint32_t clocks,
			      uint32_t reference, const struct dt_evidence *evidence, size_t n,
			      const struct dt_align_assumed *assumed, struct dt_error *e)
{
	struct dt_case c = {.clock = clock,
			    .clocks = clocks,
			    .reference = reference,
			    .evidence = evidence,
			    .n = n,
			    .rate = assumed->rate};
	struct dt_align *to;
	int rc = -1;

	if (check_input(clock, clocks, reference, evidence, n, e))
		return NULL;
	to = calloc(1, sizeof(*to));
	c.believed = malloc(n + 1);
	c.use = malloc(n + 1);
	c.cut = calloc(DT_CASE_MOST, sizeof(*c.cut));
	c.contradiction = calloc(DT_CASE_MOST, sizeof(*c.contradiction));
	if (to)
		to->clock = calloc(clocks, sizeof(*to->clock));
	if (to && to->clock && c.believed && c.use && c.cut && c.contradiction) {
		to->clocks = clocks;
		to->reference = reference;
		to->wander = assumed->wander;
		memset(c.believed, 1, n);
		rc = run(to, &c, assumed, e);
	} else {
		dt_fail(e, "out of memory");
	}
	free(c.believed);
	free(c.use);
	free(c.cut);
	free(c.contradiction);
	if (rc) {
		dt_align_free(to);
		return NULL;
	}
	return to;
}

void dt_align_free(struct dt_align *a)
{
	if (!a)
		return;
	for (uint32_t c = 0; a->clock && c < a->clocks; c++)
		free(a->clock[c].knot);
	free(a->clock);
	free(a->contradiction);
	free(a->fate);
	dt_net_free(a->net);
	free(a);
}
