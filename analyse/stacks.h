/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a trace: a tree with a node for each function as it is called by the functions
 * above it, and what its calls took. The size depends on how many ways of calling the program has,
 * not on the length of the trace.
 */
#ifndef DT_ANALYSE_STACKS_H
#define DT_ANALYSE_STACKS_H

#include "analyse/chosen.h"

struct dt_stack_node {
	uint32_t parent;   /* index; 0: no parent (nodes of threads, and node 0, which stands for
			      nothing) */
	uint32_t function; /* row of the function; in a thread's node the tid */
	bool thread;
	bool again;		     /* the function also stands above it (analyse/graph.h) */
	uint64_t calls, self, total; /* times are ticks; only of calls whose times are known */
	uint32_t child, next;	     /* first child, next of the same parent; 0: none */
};

struct dt_stacks {
	struct dt_stack_node *node;
	uint32_t n, room;
	uint32_t *slot; /* hash table of nodes by parent and function; open addressing */
	uint32_t slots;
	const struct dt_chosen_calls
		*chosen;      /* set by the caller: others take no time; NULL: all are chosen */
	uint64_t seen, taken; /* calls in all; of the chosen */
	/* set by the caller: times are those off the processor (analyse/waits.c) only. Where the
	 * trace tells it (record --wakers), the kernel's functions in which they waited are below
	 * the calls */
	bool off;
};

/* Returns the node below `parent', which is made if it is new; 0: out of memory. */
uint32_t dt_stacks_node(struct dt_stacks *s, uint32_t parent, uint32_t function, bool thread,
			bool again);

/* Adds a range of the trace. Nodes of callers come before those of their callees. Returns -1 on
 * error. */
int dt_stacks_read(struct dt_stacks *s, struct dt_reader *r, const struct dt_reader_range *range,
		   struct dt_error *e);
void dt_stacks_free(struct dt_stacks *s);

#endif
