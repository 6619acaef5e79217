/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a trace: a tree with a node for each function called by the functions above it, and
 * what its calls took. Its size is that of the program's ways to call, not of the trace.
 */
#ifndef DT_ANALYSE_STACKS_H
#define DT_ANALYSE_STACKS_H

#include "analyse/pair.h"

struct dt_stack_node {
	uint32_t parent;   /* index; 0: none, as of threads and of node 0, which is none */
	uint32_t function; /* row; of a thread's node its id */
	bool thread;
	bool again;		     /* analyse/graph.h: of a function that stands above it, too */
	uint64_t calls, self, total; /* ticks; of calls whose times are known */
	uint32_t child, next;	     /* first child, next of the same parent; 0: none */
};

struct dt_stacks {
	struct dt_stack_node *node;
	uint32_t n, room;
	uint32_t *slot; /* open addressing by parent and function */
	uint32_t slots;
};

/* The node below `parent', made when it is new; 0: out of memory. */
uint32_t dt_stacks_node(struct dt_stacks *s, uint32_t parent, uint32_t function, bool thread,
			bool again);

/* Takes a range of the trace. Nodes of callers stand before those of their callees. */
int dt_stacks_read(struct dt_stacks *s, struct dt_reader *r, const struct dt_reader_range *range,
		   struct dt_error *e);
void dt_stacks_free(struct dt_stacks *s);

#endif
