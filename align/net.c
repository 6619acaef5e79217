/* SPDX-License-Identifier: MIT */
/* Difference constraints: their net, and shortest paths in it. */
#include "align/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One end of evidence, or of a clock, before nodes have numbers. */
struct end {
	uint32_t clock, edge; /* edge: twice the edge's number, plus 1 for its b; NONE */
	int64_t x;
};

static int by_time(const void *p, const void *q)
{
	const struct end *a = p, *b = q;

	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	return a->x < b->x ? -1 : a->x > b->x;
}

static bool allocate(struct dt_net *g, size_t nodes, size_t edges, size_t cuts)
{
	g->x = malloc((nodes + 1) * sizeof(*g->x));
	g->first = calloc(g->clocks + 2, sizeof(*g->first));
	g->stretch = malloc((nodes + 1) * sizeof(*g->stretch));
	g->cut = calloc(nodes + 1, sizeof(*g->cut));
	g->up = malloc((nodes + 1) * sizeof(*g->up));
	g->down = malloc((nodes + 1) * sizeof(*g->down));
	g->edge = malloc((edges + 1) * sizeof(*g->edge));
	/* a cut is between two stretches, and what is in it may be one of its own */
	g->of = malloc((g->clocks + 2 * cuts + 1) * sizeof(*g->of));
	g->value = malloc((nodes + 1) * sizeof(*g->value));
	g->parent = malloc((nodes + 1) * sizeof(*g->parent));
	g->mark = malloc((nodes + 1) * sizeof(*g->mark));
	return g->x && g->first && g->stretch && g->cut && g->up && g->down && g->edge && g->of &&
	       g->value && g->parent && g->mark;
}

void dt_net_free(struct dt_net *g)
{
	if (!g)
		return;
	free(g->x);
	free(g->first);
	free(g->stretch);
	free(g->cut);
	free(g->up);
	free(g->down);
	free(g->edge);
	free(g->of);
	free(g->value);
	free(g->parent);
	free(g->mark);
	free(g);
}

/* Gives nodes to the ends, which are sorted: one to each time of each clock. */
static void number_nodes(struct dt_net *g, const struct end *end, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!i || by_time(&end[i - 1], &end[i])) {
			if (!i || end[i].clock != end[i - 1].clock)
				g->first[end[i].clock] = g->nodes;
			g->x[g->nodes++] = end[i].x;
		}
		if (end[i].edge == DT_NET_NONE)
			continue;
		struct dt_edge *to = &g->edge[end[i].edge / 2];
		*(end[i].edge & 1 ? &to->b : &to->a) = g->nodes - 1;
	}
	g->first[g->clocks] = g->nodes;
}

size_t dt_cut_stretch(uint32_t clock, int64_t x, const struct dt_cut *cut, size_t cuts)
{
	size_t at = 0;

	for (size_t i = 0; i < cuts; i++)
		if (cut[i].clock == clock)
			at += (x > cut[i].from) + (x >= cut[i].to);
	return at;
}

static void find_stretches(struct dt_net *g, const struct dt_cut *cut, size_t cuts, double rate)
{
	for (uint32_t c = 0; c < g->clocks; c++) {
		size_t last = SIZE_MAX;

		for (uint32_t i = g->first[c]; i < g->first[c + 1]; i++) {
			size_t now = cuts ? dt_cut_stretch(c, g->x[i], cut, cuts) : 0;

			if (now != last) {
				bool is = c == g->reference;

				if (i)
					g->cut[i - 1] = true;
				g->of[g->stretches++] =
					(struct dt_stretch){c, i, i, is ? 0 : -rate, is ? 0 : rate};
			}
			last = now;
			g->stretch[i] = g->stretches - 1;
			g->of[g->stretches - 1].end = i + 1;
		}
	}
	g->cut[g->nodes - 1] = true;
}

/*
 * Both sums are made of two that are rounded, what the mean rate gives and what is to both sides of
 * it, of which the second one never falls: so there is no way there and back along a clock that is
 * less than nothing, however near two nodes are. Each sum is off by up to two units.
 */
void dt_net_rates(struct dt_net *g)
{
	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct dt_stretch *s = &g->of[g->stretch[i]];
		long double d = (long double)(g->x[i] - g->x[s->first]);
		int64_t mean = (int64_t)floorl(d * ((long double)s->high + s->low) / 2);
		int64_t span = (int64_t)ceill(d * ((long double)s->high - s->low) / 2);

		g->up[i] = mean + span;
		g->down[i] = mean - span;
	}
}

struct dt_net *dt_net_new(const struct dt_align_clock *clock, uint32_t clocks, uint32_t reference,
			  const struct dt_evidence *evidence, size_t n, const bool *use,
			  const struct dt_cut *cut, size_t cuts, double rate)
{
	struct dt_net *g = calloc(1, sizeof(*g));
	struct end *end = NULL;
	size_t used = 0, ends = 0;

	for (size_t i = 0; i < n; i++)
		used += use[i];
	if (g)
		end = malloc((2 * used + 2 * clocks + 2 * cuts) * sizeof(*end));
	if (!end)
		goto bad;
	g->clocks = clocks;
	g->reference = reference;
	if (!allocate(g, 2 * used + 2 * clocks + 2 * cuts, used, cuts))
		goto bad;
	for (uint32_t c = 0; c < clocks; c++) {
		end[ends++] = (struct end){c, DT_NET_NONE, clock[c].begin};
		end[ends++] = (struct end){c, DT_NET_NONE, clock[c].end};
	}
	for (size_t i = 0; i < cuts; i++) {
		end[ends++] = (struct end){cut[i].clock, DT_NET_NONE, cut[i].from};
		end[ends++] = (struct end){cut[i].clock, DT_NET_NONE, cut[i].to};
	}
	for (size_t i = 0; i < n; i++) {
		const struct dt_evidence *v = &evidence[i];

		if (!use[i])
			continue;
		g->edge[g->edges] = (struct dt_edge){.evidence = (uint32_t)i,
						     .weight = v->xb - v->xa + v->slack};
		end[ends++] = (struct end){v->a, 2 * g->edges, v->xa};
		end[ends++] = (struct end){v->b, 2 * g->edges + 1, v->xb};
		g->edges++;
	}
	qsort(end, ends, sizeof(*end), by_time);
	number_nodes(g, end, ends);
	find_stretches(g, cut, cuts, rate);
	dt_net_rates(g);
	free(end);
	return g;
bad:
	free(end);
	dt_net_free(g);
	return NULL;
}

uint32_t dt_net_node(const struct dt_net *g, uint32_t clock, int64_t x)
{
	uint32_t low = g->first[clock], high = g->first[clock + 1];

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (g->x[middle] <= x)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static inline bool lower(struct dt_net *g, uint32_t from, uint32_t to, int64_t weight, uint32_t by)
{
	int64_t sum;

	if (g->value[from] >= DT_NET_FAR || __builtin_add_overflow(g->value[from], weight, &sum) ||
	    sum >= g->value[to])
		return false;
	g->value[to] = sum;
	g->parent[to] = by;
	return true;
}

/* Lowers along each edge once, and along the chains in both directions. Returns whether anything
 * has changed. */
static bool sweep(struct dt_net *g, bool backward)
{
	bool changed = false;

	for (uint32_t i = 0; i < g->edges; i++) {
		const struct dt_edge *e = &g->edge[i];

		changed |= backward ? lower(g, e->a, e->b, e->weight, i)
				    : lower(g, e->b, e->a, e->weight, i);
	}
	for (uint32_t i = 0; i + 1 < g->nodes; i++)
		if (!g->cut[i])
			changed |= lower(g, i, i + 1,
					 backward ? g->down[i] - g->down[i + 1]
						  : g->up[i + 1] - g->up[i],
					 DT_BY_BEFORE);
	for (uint32_t i = g->nodes - 1; i-- > 0;)
		if (!g->cut[i])
			changed |= lower(g, i + 1, i,
					 backward ? g->up[i + 1] - g->up[i]
						  : g->down[i] - g->down[i + 1],
					 DT_BY_AFTER);
	return changed;
}

uint32_t dt_net_before(const struct dt_net *g, uint32_t at, bool backward, uint32_t *edge)
{
	uint32_t by = g->parent[at];

	*edge = DT_NET_NONE;
	if (by == DT_BY_BEFORE)
		return at - 1;
	if (by == DT_BY_AFTER)
		return at + 1;
	if (by == DT_NET_NONE)
		return DT_NET_NONE;
	*edge = by;
	return backward ? g->edge[by].a : g->edge[by].b;
}

/* Returns a node of a circle of parents, which is a negative cycle (Cherkassky and Goldberg,
 * "Negative-cycle detection algorithms", 1999); NONE: there is none. */
static uint32_t circle(struct dt_net *g, bool backward)
{
	uint32_t edge;

	memset(g->mark, 0xff, g->nodes * sizeof(*g->mark));
	for (uint32_t i = 0; i < g->nodes; i++) {
		uint32_t at = i;

		while (at != DT_NET_NONE && g->mark[at] == DT_NET_NONE) {
			g->mark[at] = i;
			at = dt_net_before(g, at, backward, &edge);
		}
		if (at != DT_NET_NONE && g->mark[at] == i)
			return at;
	}
	return DT_NET_NONE;
}

bool dt_net_relax(struct dt_net *g, bool backward, uint32_t *at)
{
	memset(g->parent, 0xff, (g->nodes + 1) * sizeof(*g->parent));
	for (uint64_t rounds = 1; sweep(g, backward); rounds++) {
		if (rounds < 2 || (rounds > 16 && rounds % 8))
			continue;
		*at = circle(g, backward);
		if (*at != DT_NET_NONE)
			return false;
	}
	return true;
}

bool dt_net_possible(struct dt_net *g, uint32_t *at)
{
	memset(g->value, 0, g->nodes * sizeof(*g->value));
	return dt_net_relax(g, false, at);
}
