/* SPDX-License-Identifier: MIT */
/*
 * Who calls whom: a tree of the ways by which calls were reached, with what they took; for the
 * whole trace, and below and above chosen functions.
 *
 * A function stands on a way only once. If it is called again further down, that call and what it
 * calls are counted where it stood first, and a node that is `again' says how often it was called
 * from there. So the size of the tree depends on the program's functions, not on how deeply it
 * recurs, and no time counts twice: the total of a node is how long one of its calls was open on a
 * thread.
 */
#ifndef DT_ANALYSE_GRAPH_H
#define DT_ANALYSE_GRAPH_H

#include "analyse/chosen.h"
#include "analyse/stacks.h"

/* Times are ticks. Calls that were entered before the trace, or during which records were lost, are
 * in `calls' only; one that is unfinished counts with its time up to the end. */
struct dt_graph_sum {
	uint64_t calls; /* calls made: entries */
	uint64_t here;	/* how many of them were made by the function above the node; the others,
			   further down */
	uint64_t recursive; /* how many of them were within another call of the same function */
	uint64_t timed;	    /* how many of them the times are from */
	uint64_t open;	    /* how many of them are unfinished */
	uint64_t exits;	    /* exits without an entry, which are not in `calls' */
	uint64_t total;	    /* calls within each other count once */
	uint64_t outer;	    /* time of calls that are not recursive */
	uint64_t sum;	    /* time of all calls, for the mean */
	uint64_t self;
	/* what of `total', `outer' and `self' was waiting: see struct dt_call */
	uint64_t waited, outer_waited, self_waited;
};

struct dt_graph_tree {
	struct dt_stacks way;	  /* only its tree is used, not its sums */
	struct dt_graph_sum *sum; /* by node; calls of a function that is called again are counted
				     at its first node on the way */
	uint32_t room;
};

/* Stands for a function when the trace knows no caller. */
#define DT_GRAPH_NO_CALLER UINT32_MAX

struct dt_graph {
	/* set by the caller: */
	const uint32_t *focus; /* rows of the functions to be looked at: those that stand for others
				  (analyse/same.h) */
	size_t focuses;
	const bool *shown; /* by function row, `functions' of them; others are as if they were not
			      traced */
	uint32_t functions;
	const struct dt_chosen_calls *chosen; /* other calls, and exits without an entry, are as if
					   they were not traced; NULL: all are wanted */
	const double *cost;		      /* as in struct dt_pair_events */
	bool (*wanted)(void *ctx, uint32_t tid); /* is the thread wanted? NULL: every thread is */
	void *ctx;
	/* set by dt_graph_read(): */
	struct dt_graph_tree whole;
	struct dt_graph_tree *below; /* by focus: its calls, and what they call */
	struct dt_graph_tree
		*above; /* by focus: in these trees, a node is called by its children */
	/*
	 * ticks, which shares are parts of: the self time of all calls; or the time of those that
	 * have no caller, where that is more, since calls of unknown time are inside
	 */
	uint64_t all;
};

/* Reads a range of the trace. Returns -1 on error; the caller calls dt_graph_free() in any case. */
int dt_graph_read(struct dt_graph *g, struct dt_reader *r, const struct dt_reader_range *range,
		  struct dt_error *e);
void dt_graph_free(struct dt_graph *g);

/* Returns what all calls of a function took. */
struct dt_graph_sum dt_graph_function(const struct dt_graph *g, uint32_t function);

#endif
