/* SPDX-License-Identifier: MIT */
/*
 * The calls of a trace as a tree in the order of time, of which only the parts that are asked for
 * are made: threads, the calls in them, the calls in those. It is made from the pyramid, so the
 * calls in a call are found without reading all that happened in it. Where a call has made many,
 * those that are long in comparison with it are nodes of their own, and stretches of short ones are
 * nodes that stand for all of them, and can be unfolded in turn.
 *
 * A call is in the call of the next smaller depth of its thread that was open when it began; in
 * both, if there were two, which is so with coroutines, and where several calls of one depth begin
 * and end in one tick. If the
 * pyramid has a filter, each call that it wants is directly in its thread.
 */
#ifndef DT_ANALYSE_OUTLINE_H
#define DT_ANALYSE_OUTLINE_H

#include "analyse/window.h"

enum dt_outline_kind {
	DT_OUTLINE_ROOT,   /* node 0: everything */
	DT_OUTLINE_THREAD, /* a thread, or what ran on a core without one */
	DT_OUTLINE_CALL,
	DT_OUTLINE_CALLS, /* several calls of one depth, one after the other */
};

struct dt_outline_node {
	uint8_t kind;  /* enum dt_outline_kind */
	uint8_t shift; /* of several: they are shorter than 2^shift ticks, and end in one cell */
	bool loaded;   /* what is in it is known, as far as it is wanted */
	bool unfolded; /* what is in it is shown: the user's */
	uint32_t parent, child, next; /* indices; 0: none */
	uint32_t track;		      /* of the pyramid */
	struct dt_bar bar; /* the call, or the sum of several; of a thread: begin, end and count */
};

struct dt_outline {
	struct dt_windows *windows;
	const struct dt_pyramid *pyramid;
	struct dt_outline_node *node; /* it moves when nodes are added */
	uint32_t n, room;
	/* called now and then in long work; false ends that with the error "stopped". NULL: none */
	bool (*go_on)(void *ctx);
	void *ctx;
};

#define DT_OUTLINE_MOST 400000 /* nodes at most */

/* Begins an outline of windows and their pyramid, which must outlive it. Returns -1 on error. The
 * caller calls dt_outline_free() in any case, which does not free *o itself. */
int dt_outline_begin(struct dt_outline *o, struct dt_windows *w, const struct dt_pyramid *p,
		     struct dt_error *e);
void dt_outline_free(struct dt_outline *o);

/* Makes the nodes that are in this one, unless it has them already; those of the root: threads that
 * the pyramid has met since. Returns -1 on error, and the node is as before. */
int dt_outline_load(struct dt_outline *o, uint32_t node, struct dt_error *e);

/* Says whether there may be something in the node. */
bool dt_outline_has_more(const struct dt_outline *o, uint32_t node);

/* Finds the node of a call by its thread's track, its begin and its depth, and loads and unfolds
 * what it is in. Returns 0 if there is none, *e says why if it is an error (else it is ""). */
uint32_t dt_outline_reveal(struct dt_outline *o, uint32_t track, uint64_t begin, uint32_t depth,
			   struct dt_error *e);

/* What dt_outline_find() has found. */
struct dt_outline_found {
	uint32_t track;
	struct dt_bar bar;
};

/*
 * Looks for the first call after (forward) or the last one before a place - the call's track, begin
 * and depth in *f - of which wanted[function] is true; `functions' elements. With f->bar.count 0
 * the place is the beginning of the track (forward) or, with begin UINT64_MAX, its end. The calls
 * of a thread come after one another, the threads in the order of their tracks. It does not go on
 * at the other end. 1: *f is that call; 0: there is none; -1: error.
 */
int dt_outline_find(struct dt_outline *o, struct dt_outline_found *f, bool forward,
		    const bool *wanted, uint32_t functions, struct dt_error *e);

#endif
