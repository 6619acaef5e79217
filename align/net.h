/* SPDX-License-Identifier: MIT */
/*
 * The net of difference constraints: a node for each time of each clock that evidence is about.
 * A node's value is reference time minus the clock's own (t - x). Neighbours on one clock are a
 * chain, whose links allow for the clock's rate; evidence is an edge between two clocks.
 */
#ifndef DT_ALIGN_NET_H
#define DT_ALIGN_NET_H

#include "align/evidence.h"

#define DT_NET_FAR  (INT64_MAX / 4) /* no path */
#define DT_NET_NONE UINT32_MAX

/* Between two times of a clock it stepped: what is said about times in between is not used. */
struct dt_cut {
	uint32_t clock;
	int64_t from, to;
};

/* T of edge b >= T of edge a, but for the slack: value[a] <= value[b] + weight. */
struct dt_edge {
	uint32_t a, b, evidence;
	int64_t weight;
};

/* A stretch of a clock without steps: nodes [first, end), and the bounds of its rate. */
struct dt_stretch {
	uint32_t clock, first, end;
	double low, high; /* of dt/dx - 1 */
};

struct dt_net {
	uint32_t clocks, reference, nodes, edges, stretches;
	int64_t *x;
	uint32_t *first;   /* of each clock, and the end */
	uint32_t *stretch; /* of each node */
	bool *cut;	   /* after each node: it has no link to the next one */
	/* sums along a clock of the most and least that a node's value can change: what is between
	 * two nodes is exact, however many are between them */
	int64_t *up, *down;
	struct dt_edge *edge;
	struct dt_stretch *of;
	int64_t *value;
	uint32_t *parent, *mark;
};

/* How a node got its value: by edge number, or by a link of its chain. */
#define DT_BY_BEFORE (UINT32_MAX - 1)
#define DT_BY_AFTER  (UINT32_MAX - 2)

/* Returns a number for the stretch between cuts that a time of a clock is in; odd: in a cut. */
size_t dt_cut_stretch(uint32_t clock, int64_t x, const struct dt_cut *cut, size_t cuts);

/* Makes the net of the pieces of evidence for which use[] is true, and of the clocks' ends. NULL:
 * out of memory. */
struct dt_net *dt_net_new(const struct dt_align_clock *clock, uint32_t clocks, uint32_t reference,
			  const struct dt_evidence *evidence, size_t n, const bool *use,
			  const struct dt_cut *cut, size_t cuts, double rate);
void dt_net_free(struct dt_net *g);

/* Computes up and down after rates of stretches have changed. */
void dt_net_rates(struct dt_net *g);

/* Returns the last node of the clock whose time is at most x; the first one if there is none. */
uint32_t dt_net_node(const struct dt_net *g, uint32_t clock, int64_t x);

/*
 * Lowers values along all paths (Bellman and Ford), from those that are there, until nothing
 * changes: backward false: value[a] is then the greatest that it can be; true: minus the least.
 * Returns false if they can be lowered for ever: *at is a node of a negative cycle, by `parent'.
 */
bool dt_net_relax(struct dt_net *g, bool backward, uint32_t *at);

/* Returns whether all constraints can be met; if not, *at is a node of a negative cycle. */
bool dt_net_possible(struct dt_net *g, uint32_t *at);

/* Returns the node before `at' on the path to it that dt_net_relax() has found, and by which edge
 * (DT_NET_NONE: a link of the chain). backward as it was there. */
uint32_t dt_net_before(const struct dt_net *g, uint32_t at, bool backward, uint32_t *edge);

#endif
