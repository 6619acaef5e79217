/* SPDX-License-Identifier: MIT */
/*
 * The ways by which calls were reached: a tree with a node for each function as it is called by the
 * functions above it, and the time that calls spent in the function itself there. The pyramid keeps
 * one tree for the whole trace, and sums for each region.
 *
 * A function stands on a way only once: if it is called again further down, that call and what it
 * calls are counted where it stood first. So the size of the tree depends on the program's
 * functions, not on how deeply it recurs, and the time of a node and all below it is the time in
 * which the way was open.
 */
#ifndef DT_ANALYSE_WAYS_H
#define DT_ANALYSE_WAYS_H

#include "filter/call.h"
#include "store/chunk.h"

#define DT_WAYS_MOST  (1u << 20) /* nodes, and... */
#define DT_WAYS_DEPTH 4096	 /* ...functions on a way: more are counted in node DT_WAYS_OTHER */

#define DT_WAYS_TOP   0 /* stands for nothing; the nodes of outermost calls are below it */
#define DT_WAYS_OTHER 1 /* function 0 */

struct dt_way {
	uint32_t parent, function; /* a parent has a smaller index than its children */
	uint32_t depth;		   /* of the outermost calls: 1 */
	/* the node that this function was looked up below it last: most calls are like the one
	 * before */
	uint32_t last_function, last_node;
};

struct dt_ways {
	struct dt_way *node;
	uint32_t n, room;
	uint32_t *slot; /* hash table by parent and function: index of a link, plus one */
	uint32_t slots;
	/* which node a function is below another: the child, or the node further up where the
	 * function stands already */
	struct dt_way_link {
		uint32_t parent, function, node;
	} * link;
	uint32_t links, link_room;
};

/* What calls did at the nodes. Times are ticks, and may be negative while a difference is made. */
struct dt_way_sums {
	struct dt_way_sum {
		uint64_t calls; /* that ended */
		int64_t self;
	} * sum; /* by node */
	uint32_t room;
	uint32_t *touched; /* the nodes that are not all zero, `n' of them */
	uint32_t n, touched_room;
	bool no_memory;
};

/* Makes a tree without ways, as it must be before all else. Returns -1 when out of memory. */
int dt_ways_begin(struct dt_ways *w);
void dt_ways_free(struct dt_ways *w);

/* Returns the node of a function that is called at `parent'. If there is no memory, or there are
 * too many nodes, it is DT_WAYS_OTHER. */
uint32_t dt_ways_node(struct dt_ways *w, uint32_t parent, uint32_t function);

/* Adds to what is known of a node. */
void dt_way_sums_add(struct dt_way_sums *s, uint32_t node, uint64_t calls, int64_t self);
/* Adds a call that has ended at a node. */
void dt_way_sums_call(struct dt_way_sums *s, uint32_t node, const struct dt_call *c);
/* Forgets all sums. */
void dt_way_sums_reset(struct dt_way_sums *s);
void dt_way_sums_free(struct dt_way_sums *s);

/* Append the tree, or sums, to b as bytes, and take them back: functions and nodes are how many
 * there are. Return -1 when out of memory, or what is taken is damaged. */
int dt_ways_save(const struct dt_ways *w, struct dt_bytes *b);
int dt_ways_take(struct dt_ways *w, const uint8_t *bytes, size_t n, uint32_t functions);
int dt_way_sums_save(struct dt_way_sums *s, struct dt_bytes *b);
int dt_way_sums_take(struct dt_way_sums *s, const uint8_t *bytes, size_t n, uint32_t nodes);

#endif
