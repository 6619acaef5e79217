/* SPDX-License-Identifier: MIT */
/*
 * Who calls whom: a tree of the ways that calls were reached, with what they took; of the whole
 * trace, and below and above chosen functions.
 *
 * A function stands on a way once. When it is called again further down, that call and what it
 * calls count where it stood first, and a node that is `again' says how often it was called from
 * there. So the tree is bounded by the program's functions, not by how deep it recurs, and no time
 * counts twice: the total of a node is how long one of its calls was open on a thread.
 */
#ifndef DT_ANALYSE_GRAPH_H
#define DT_ANALYSE_GRAPH_H

#include "analyse/stacks.h"

/* Times are ticks. Calls that were entered before the trace, or had records lost meanwhile, are in
 * `calls' only; one that is unfinished counts with its time to the end. */
struct dt_graph_sum {
	uint64_t calls;	    /* made: entries */
	uint64_t here;	    /* of them: by the function above it; others are further down */
	uint64_t recursive; /* of them: within another call of the same function */
	uint64_t timed;	    /* of them: what the times are from */
	uint64_t open;	    /* of them: unfinished */
	uint64_t exits;	    /* beside them: exits without an entry */
	uint64_t total;	    /* calls within each other count once */
	uint64_t outer;	    /* of calls that are not recursive */
	uint64_t sum;	    /* of all, for the mean */
	uint64_t self;
};

struct dt_graph_tree {
	struct dt_stacks way;	  /* only its tree is used, not its sums */
	struct dt_graph_sum *sum; /* by node; of what is called again, too, where it stood first */
	uint32_t room;
};

/* In place of a function: the trace knows no caller. */
#define DT_GRAPH_NO_CALLER UINT32_MAX

struct dt_graph {
	/* given: */
	const uint32_t
		*focus; /* functions to be looked at; rows that stand for others (analyse/same.h) */
	size_t focuses;
	const bool *shown; /* by row, `functions' of them; others are as if they were not traced */
	uint32_t functions;
	const double *cost;			 /* as in struct dt_pair_events */
	bool (*wanted)(void *ctx, uint32_t tid); /* NULL: every thread */
	void *ctx;
	/* made: */
	struct dt_graph_tree whole;
	struct dt_graph_tree *below; /* by focus: its calls, and what they call */
	struct dt_graph_tree *above; /* by focus: a parent there is called by its children */
	uint64_t self;		     /* of all calls: what shares are of */
};

int dt_graph_read(struct dt_graph *g, struct dt_reader *r, const struct dt_reader_range *range,
		  struct dt_error *e);
void dt_graph_free(struct dt_graph *g);

/* What all calls of a function took. */
struct dt_graph_sum dt_graph_function(const struct dt_graph *g, uint32_t function);

#endif
