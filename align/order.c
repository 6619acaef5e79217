/* SPDX-License-Identifier: MIT */
/* The order of two events: the least and the greatest time from one to the other. */
#include "align/align.h"
#include "align/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far a value can be from that of a node that is `d' before (d < 0: after) on the clock. */
static int64_t most(const struct dt_stretch *s, int64_t d)
{
	return (int64_t)ceil((double)d * (d > 0 ? s->high : s->low));
}

static int64_t least(const struct dt_stretch *s, int64_t d)
{
	return (int64_t)floor((double)d * (d > 0 ? s->low : s->high));
}

/* The nodes around a time of a clock, of those that are connected with it: one or two. */
static int around(const struct dt_net *g, uint32_t clock, int64_t x, uint32_t node[2])
{
	int n = 0;
	uint32_t i = dt_net_node(g, clock, x);

	/* directly after a cut it is not known to which side the time belongs */
	if (g->x[i] == x || i + 1 == g->first[clock + 1] || g->x[i] > x) {
		node[n++] = i;
	} else if (!g->cut[i]) {
		node[n++] = i;
		node[n++] = i + 1;
	}
	return n;
}

/* Computes the greatest value (backward: minus the least) that the second event can have if the
 * first one has 0. */
static int64_t reach(struct dt_net *g, bool backward, uint32_t a, int64_t xa, uint32_t b,
		     int64_t xb)
{
	uint32_t node[2], at;
	int64_t best = DT_NET_FAR;
	int n = around(g, a, xa, node);

	for (uint32_t i = 0; i < g->nodes; i++)
		g->value[i] = DT_NET_FAR;
	for (int i = 0; i < n; i++) {
		const struct dt_stretch *s = &g->of[g->stretch[node[i]]];
		int64_t d = g->x[node[i]] - xa;

		g->value[node[i]] = backward ? -least(s, d) : most(s, d);
	}
	dt_net_relax(g, backward, &at);
	n = around(g, b, xb, node);
	for (int i = 0; i < n; i++) {
		const struct dt_stretch *s = &g->of[g->stretch[node[i]]];
		int64_t d = xb - g->x[node[i]];
		int64_t v = g->value[node[i]] + (backward ? -least(s, d) : most(s, d));

		if (g->value[node[i]] < DT_NET_FAR && v < best)
			best = v;
	}
	return best;
}

enum dt_order_of dt_align_order(const struct dt_align *al, uint32_t a, int64_t xa, uint32_t b,
				int64_t xb)
{
	struct dt_net *g = al->net;
	int64_t high, low;

	if (a == b)
		return xa < xb ? DT_BEFORE : xa > xb ? DT_AFTER : DT_ORDER_UNKNOWN;
	high = reach(g, false, a, xa, b, xb);
	if (high < DT_NET_FAR && high + xb - xa < 0)
		return DT_AFTER;
	low = reach(g, true, a, xa, b, xb);
	if (low < DT_NET_FAR && -low + xb - xa > 0)
		return DT_BEFORE;
	return DT_ORDER_UNKNOWN;
}
