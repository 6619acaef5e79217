/* SPDX-License-Identifier: MIT */
/*
 * What of a trace is in a window of time, with cells of 2^shift ticks: bars of that length or
 * longer by themselves, all shorter ones of a track and depth that end in one cell together. From
 * the pyramid, and, where that is too coarse, from the records.
 */
#ifndef DT_ANALYSE_WINDOW_H
#define DT_ANALYSE_WINDOW_H

#include "analyse/pyramid.h"
#include "analyse/stats.h"

struct dt_window {
	uint64_t from, to; /* ticks, both included */
	unsigned shift;
	uint32_t depths; /* no bars this deep and deeper; 0: all */
};

struct dt_bar_list {
	struct dt_bar *bar; /* by depth, then begin */
	size_t n, room;
};

struct dt_windows;

/* Of the trace in path, which p belongs to; p is only looked at, but for what dt_windows_tail()
 * says. */
struct dt_windows *dt_windows_new(struct dt_pyramid *p, const char *path, struct dt_error *e);
void dt_windows_free(struct dt_windows *w);

/* After dt_pyramid_follow(): reads the tail, and has p know its tracks. */
int dt_windows_tail(struct dt_windows *w, struct dt_error *e);

/* The smallest shift with which a window has at most so many cells. */
unsigned dt_window_shift(uint64_t from, uint64_t to, unsigned cells);

/* The bars of a track that are partly in the window; those of a cell together, when one is.
 * Replaces what is in list. */
int dt_window_bars(struct dt_windows *w, uint32_t track, const struct dt_window *window,
		   struct dt_bar_list *list, struct dt_error *e);

/* Every bar of every track that begins in [from, to] (else ends there), in no order. fn returns
 * false to stop. */
int dt_window_each(struct dt_windows *w, uint64_t from, uint64_t to, bool begins,
		   bool (*fn)(void *ctx, uint32_t track, const struct dt_bar *bar), void *ctx,
		   struct dt_error *e);

/* What of a track's ends in [from, to]. */
struct dt_track_sum {
	uint64_t count;
	uint64_t busy;	    /* ticks, of depth 0 */
	uint64_t low, high; /* values */
};

/* Of all tracks; sum has room for them. */
int dt_window_sums(struct dt_windows *w, uint64_t from, uint64_t to, struct dt_track_sum *sum,
		   struct dt_error *e);

/* Adds the calls that end in [from, to]. */
int dt_window_stats(struct dt_windows *w, uint64_t from, uint64_t to, struct dt_stats *s,
		    struct dt_error *e);

/* Every call that ends in [from, to], in that order, with what it was called with, as long as its
 * entry is not before from. */
int dt_window_calls(struct dt_windows *w, uint64_t from, uint64_t to,
		    void (*fn)(void *ctx, const struct dt_call *c), void *ctx, struct dt_error *e);

/* For what is not in the bars. */
struct dt_reader *dt_windows_reader(struct dt_windows *w);
/* NULL: none. */
struct dt_filter *dt_windows_filter(struct dt_windows *w);

#endif
