/* SPDX-License-Identifier: MIT */
/*
 * Contradictions. A negative cycle consists of pieces of evidence, and of stretches of clocks
 * between them: one of these is not as it was assumed. A marker or a real time that does not fit to
 * messages is not believed. Messages are; so a clock has stepped within its stretch (a machine
 * slept, or was moved). Where, is narrowed down to the shortest stretches in which the evidence
 * cannot be met, and the clocks are cut there in two.
 */
#include "align/contradict.h"

#include <stdlib.h>
#include <string.h>

#include "align/reduce.h"

#define FEW 3 /* pieces of evidence: fewer do not say what a clock is like after a step */

/* A part of a cycle that is along a clock. */
struct run {
	uint32_t clock;
	int64_t from, to;
};

/* A negative cycle. */
struct circle {
	int64_t by;
	size_t n, runs;
	uint32_t *evidence; /* n of them */
	struct run *run;
};

static void free_circle(struct circle *k)
{
	free(k->evidence);
	free(k->run);
}

/* Takes a link of the cycle between neighbours of a clock. */
static void take_link(struct circle *k, const struct dt_net *g, uint32_t node, uint32_t before)
{
	struct run *r = k->runs ? &k->run[k->runs - 1] : NULL;
	int64_t low = g->x[node < before ? node : before],
		high = g->x[node < before ? before : node];

	if (r && r->clock == g->of[g->stretch[node]].clock && (r->to == low || r->from == high)) {
		r->from = low < r->from ? low : r->from;
		r->to = high > r->to ? high : r->to;
	} else {
		k->run[k->runs++] = (struct run){g->of[g->stretch[node]].clock, low, high};
	}
	k->by -= before < node ? g->up[node] - g->up[before] : g->down[node] - g->down[before];
}

/* Reads the cycle that `at' is in; -1: out of memory. */
static int read_circle(struct circle *k, const struct dt_net *g, uint32_t at)
{
	uint32_t node = at, edge;

	*k = (struct circle){.evidence = malloc((g->edges + 1) * sizeof(*k->evidence)),
			     .run = malloc((g->nodes + 1) * sizeof(*k->run))};
	if (!k->evidence || !k->run)
		return -1;
	do {
		uint32_t before = dt_net_before(g, node, false, &edge);

		if (edge != DT_NET_NONE) {
			k->evidence[k->n++] = g->edge[edge].evidence;
			k->by -= g->edge[edge].weight;
		} else {
			take_link(k, g, node, before);
		}
		node = before;
	} while (node != at);
	return 0;
}

/* Makes the net of what is believed. NULL: *e says that memory is out. */
static struct dt_net *make_net(struct dt_case *c, struct dt_error *e)
{
	struct dt_net *g = NULL;

	memcpy(c->use, c->believed, c->n * sizeof(*c->use));
	if (!dt_evidence_reduce(c->evidence, c->n, c->use, c->cut, c->cuts, c->rate))
		g = dt_net_new(c->clock, c->clocks, c->reference, c->evidence, c->n, c->use, c->cut,
			       c->cuts, c->rate);
	if (!g)
		dt_fail(e, "out of memory");
	return g;
}

static struct dt_contradiction *add(struct dt_case *c, const struct circle *k)
{
	struct dt_contradiction *d = &c->contradiction[c->contradictions++];

	memset(d, 0, sizeof(*d));
	d->by = k->by;
	for (size_t i = 0; i < k->n; i++, d->n++)
		if (d->n < DT_CONTRADICTION_MOST)
			d->evidence[d->n] = k->evidence[i];
	return d;
}

static void disbelieve(struct dt_case *c, uint32_t evidence)
{
	const struct dt_evidence *bad = &c->evidence[evidence];

	for (size_t i = 0; i < c->n; i++)
		if (c->evidence[i].kind == bad->kind && c->evidence[i].item == bad->item)
			c->believed[i] = false;
}

/* Stops believing the least credible piece of the cycle, if there are markers in it, or real times
 * and others. */
static bool drop_weakest(struct dt_case *c, const struct circle *k)
{
	uint32_t weakest = k->evidence[0];
	uint8_t strongest = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct dt_evidence *v = &c->evidence[k->evidence[i]];

		if (v->kind < c->evidence[weakest].kind ||
		    (v->kind == c->evidence[weakest].kind && v->item > c->evidence[weakest].item))
			weakest = k->evidence[i];
		if (v->kind > strongest)
			strongest = v->kind;
	}
	if (c->evidence[weakest].kind > DT_EVIDENCE_REALTIME ||
	    (c->evidence[weakest].kind == DT_EVIDENCE_REALTIME &&
	     strongest == DT_EVIDENCE_REALTIME))
		return false;
	struct dt_contradiction *d = add(c, k);
	d->kind = DT_CONTRADICTION_FALSE;
	d->evidence[0] = weakest;
	d->n = 1;
	disbelieve(c, weakest);
	return true;
}

/* The links of each clock, from node to node, that are left while a contradiction is narrowed
 * down. */
struct core {
	struct dt_net *net;
	bool *were; /* the net's own cuts */
	uint32_t *first, *last;
};

/* Leaves only the links of a clock between two nodes. */
static void only(struct core *k, uint32_t clock, uint32_t first, uint32_t last)
{
	struct dt_net *g = k->net;

	for (uint32_t i = g->first[clock]; i < g->first[clock + 1]; i++)
		g->cut[i] = k->were[i] || i < first || i >= last;
}

/* Takes away links of a clock, at its beginning and at its end, as long as what is left still
 * contradicts itself. */
static void narrow(struct core *k, uint32_t clock)
{
	uint32_t first = k->first[clock], last = k->last[clock], low, high, at;

	only(k, clock, first, first);
	if (!dt_net_possible(k->net, &at)) { /* without this clock, too */
		k->last[clock] = first;
		return;
	}
	for (low = first, high = last; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;

		only(k, clock, middle, last);
		*(dt_net_possible(k->net, &at) ? &high : &low) = middle;
	}
	first = low;
	for (high = last; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;

		only(k, clock, first, middle);
		*(dt_net_possible(k->net, &at) ? &low : &high) = middle;
	}
	k->first[clock] = first;
	k->last[clock] = high;
	only(k, clock, first, high);
}

static void free_core(struct core *k)
{
	dt_net_free(k->net);
	free(k->were);
	free(k->first);
	free(k->last);
}

/*
 * Makes the net of the evidence that use[] says, with all links, or with those between two times of
 * each clock; and leaves of it a part that contradicts itself, but no longer does so if any clock
 * loses its first or its last link. from, to: the times, in and out; to < from: all of the clock.
 * -1: out of memory.
 */
static int find_core(struct dt_case *c, const bool *use, struct core *k, int64_t *from, int64_t *to)
{
	*k = (struct core){dt_net_new(c->clock, c->clocks, c->reference, c->evidence, c->n, use,
				      c->cut, c->cuts, c->rate),
			   NULL, malloc(c->clocks * sizeof(*k->first)),
			   malloc(c->clocks * sizeof(*k->last))};
	if (!k->net || !k->first || !k->last || !(k->were = malloc(k->net->nodes)))
		return -1;
	memcpy(k->were, k->net->cut, k->net->nodes);
	for (uint32_t i = 0; i < c->clocks; i++) {
		bool all = to[i] < from[i];

		k->first[i] = all ? k->net->first[i] : dt_net_node(k->net, i, from[i]);
		k->last[i] = all ? k->net->first[i + 1] - 1 : dt_net_node(k->net, i, to[i]);
		if (i != c->reference)
			only(k, i, k->first[i], k->last[i]);
	}
	for (uint32_t i = 0; i < c->clocks; i++) {
		if (i == c->reference)
			continue;
		narrow(k, i);
		from[i] = k->net->x[k->first[i]];
		to[i] = k->net->x[k->last[i]];
	}
	return 0;
}

/* Says that find_core() is to look at all of a clock. */
static void leave_whole(int64_t *from, int64_t *to)
{
	*from = 0;
	*to = -1;
}

/*
 * Reads a cycle that is as short as can be. First by the evidence that is used; then by all that is
 * said about the times that this has found, since what follows from other evidence if no clock has
 * stepped does not follow if one has. -1: out of memory.
 */
static int shortest_circle(struct dt_case *c, struct circle *to)
{
	int64_t *from = malloc(c->clocks * sizeof(*from)),
		*until = malloc(c->clocks * sizeof(*until));
	bool *use = malloc(c->n + 1);
	struct core k = {NULL};
	uint32_t at;
	int rc = -1;

	if (!from || !until || !use)
		goto out;
	for (uint32_t i = 0; i < c->clocks; i++)
		leave_whole(&from[i], &until[i]);
	if (find_core(c, c->use, &k, from, until))
		goto out;
	for (size_t i = 0; i < c->n; i++) {
		const struct dt_evidence *v = &c->evidence[i];

		use[i] = c->use[i] ||
			 (c->believed[i] && ((v->xa >= from[v->a] && v->xa <= until[v->a]) ||
					     (v->xb >= from[v->b] && v->xb <= until[v->b])));
	}
	for (uint32_t i = 0; i < c->clocks; i++)
		if (from[i] == until[i])
			leave_whole(&from[i], &until[i]);
	free_core(&k);
	if (find_core(c, use, &k, from, until))
		goto out;
	rc = dt_net_possible(k.net, &at) ? -1 : read_circle(to, k.net, at);
out:
	free_core(&k);
	free(from);
	free(until);
	free(use);
	return rc;
}

/* Stops believing what was said about times of the clock inside the new cut. */
static void forget_inside(struct dt_case *c, const struct dt_cut *cut)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct dt_evidence *v = &c->evidence[i];

		if ((v->a == cut->clock && v->xa > cut->from && v->xa < cut->to) ||
		    (v->b == cut->clock && v->xb > cut->from && v->xb < cut->to))
			c->believed[i] = false;
	}
}

/*
 * Cuts every clock that the cycle is along: one of them has stepped there, if not several, and it
 * is not known which. Whether a clock can have gone on evenly all the same will be seen when what
 * is left has been aligned. Returns how many it has cut.
 */
static size_t cut_clocks(struct dt_case *c, const struct circle *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->runs && c->contradictions < DT_CASE_MOST; i++) {
		struct dt_cut cut = {k->run[i].clock, k->run[i].from, k->run[i].to};
		struct dt_contradiction *d;

		if (cut.clock == c->reference)
			continue;
		d = add(c, k);
		d->kind = DT_CONTRADICTION_STEP;
		d->clock = cut.clock;
		d->from = cut.from;
		d->to = cut.to;
		c->cut[c->cuts++] = cut;
		forget_inside(c, &cut);
		n++;
	}
	return n;
}

/* Does something about one contradiction; -1: out of memory. */
static int resolve(struct dt_case *c, const struct dt_net *g, uint32_t at)
{
	struct circle k, shortest = {0};
	int rc = read_circle(&k, g, at);

	if (!rc && !drop_weakest(c, &k)) {
		rc = shortest_circle(c, &shortest);
		if (!rc && !cut_clocks(c, &shortest)) {
			add(c, &shortest)->kind = DT_CONTRADICTION_FALSE;
			for (size_t i = 0; i < shortest.n; i++)
				disbelieve(c, shortest.evidence[i]);
		}
		free_circle(&shortest);
	}
	free_circle(&k);
	return rc;
}

/*
 * After a step, a stretch about which hardly anything is said may as well be one piece of false
 * evidence: what is said about it is not used, so that nothing is known of it. Returns whether
 * anything has changed.
 */
static bool forget_few(struct dt_case *c, const struct dt_net *g, size_t *count)
{
	bool changed = false;

	memset(count, 0, g->stretches * sizeof(*count));
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < c->n; i++) {
			const struct dt_evidence *v = &c->evidence[i];
			uint32_t a, b;

			if (!c->believed[i])
				continue;
			a = g->stretch[dt_net_node(g, v->a, v->xa)];
			b = g->stretch[dt_net_node(g, v->b, v->xb)];
			if (!pass) {
				count[a]++;
				count[b]++;
			} else if ((count[a] < FEW && g->of[a].end != g->first[v->a + 1]) ||
				   (count[a] < FEW && g->of[a].first != g->first[v->a]) ||
				   (count[b] < FEW && g->of[b].end != g->first[v->b + 1]) ||
				   (count[b] < FEW && g->of[b].first != g->first[v->b])) {
				c->believed[i] = false;
				changed = true;
			}
		}
	return changed;
}

struct dt_net *dt_case_settle(struct dt_case *c, struct dt_error *e)
{
	struct dt_net *g;
	size_t *count;
	uint32_t at;
	bool changed;

	for (;;) {
		g = make_net(c, e);
		if (!g)
			return NULL;
		if (dt_net_possible(g, &at)) {
			if (!c->cuts)
				return g;
			count = malloc(g->stretches * sizeof(*count));
			changed = count && forget_few(c, g, count);
			free(count);
			if (count && !changed)
				return g;
			if (!count)
				dt_fail(e, "out of memory");
		} else if (c->contradictions == DT_CASE_MOST) {
			dt_fail(e,
				"the evidence contradicts itself at more than %d places: it cannot all be "
				"of these machines",
				DT_CASE_MOST);
			changed = false;
		} else {
			changed = !resolve(c, g, at);
			if (!changed)
				dt_fail(e, "out of memory");
		}
		dt_net_free(g);
		if (!changed)
			return NULL;
	}
}
