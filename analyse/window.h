/* SPDX-License-Identifier: MIT */
/*
 * What a trace has in a window of time, with cells of 2^shift ticks: bars of that length or longer
 * by themselves, and all shorter ones of a track and depth that end in one cell put together. The
 * bars come from the pyramid and, where that is too coarse, from the records.
 */
#ifndef DT_ANALYSE_WINDOW_H
#define DT_ANALYSE_WINDOW_H

#include "analyse/pyramid.h"
#include "analyse/stats.h"

struct dt_window {
	uint64_t from, to; /* ticks, both inclusive */
	unsigned shift;	   /* a cell is 2^shift ticks */
	uint32_t depths;   /* only bars of smaller depth are wanted; 0: all */
};

struct dt_bar_list {
	struct dt_bar *bar; /* by depth, then begin */
	size_t n, room;
};

struct dt_windows;

/* Makes windows of the trace at path, whose pyramid is p. Only dt_windows_tail() changes p, which
 * must live longer than the windows. NULL on error. */
struct dt_windows *dt_windows_new(struct dt_pyramid *p, const char *path, struct dt_error *e);
void dt_windows_free(struct dt_windows *w);

/* Reads the tail, after dt_pyramid_follow(), and adds its tracks to p. Returns -1 on error. */
int dt_windows_tail(struct dt_windows *w, struct dt_error *e);

/* Returns the smallest shift with which a window has at most so many cells. */
unsigned dt_window_shift(uint64_t from, uint64_t to, unsigned cells);

/* Puts the bars of a track that overlap the window into list, replacing what is in it. If one of
 * the bars that are put together in a cell does, they come. Returns -1 on error. */
int dt_window_bars(struct dt_windows *w, uint32_t track, const struct dt_window *window,
		   struct dt_bar_list *list, struct dt_error *e);

/* Calls fn for every bar of every track that begins (begins: true) or ends (false) in [from, to],
 * in no order. fn returns false to stop. Returns -1 on error. */
int dt_window_each(struct dt_windows *w, uint64_t from, uint64_t to, bool begins,
		   bool (*fn)(void *ctx, uint32_t track, const struct dt_bar *bar), void *ctx,
		   struct dt_error *e);

/* Sums of the bars of a track that end in [from, to]. */
struct dt_track_sum {
	uint64_t count;
	uint64_t busy;	    /* ticks; only bars of depth 0 */
	uint64_t low, high; /* least and greatest value */
};

/* Sums up all tracks; sum has room for them. Returns -1 on error. */
int dt_window_sums(struct dt_windows *w, uint64_t from, uint64_t to, struct dt_track_sum *sum,
		   struct dt_error *e);

/* Adds the calls that end in [from, to] to s. Returns -1 on error. */
int dt_window_stats(struct dt_windows *w, uint64_t from, uint64_t to, struct dt_stats *s,
		    struct dt_error *e);

/*
 * Calls fn for every call that ends in [from, to], in the order of the ends; those that were open
 * when the trace ended come last. A call has its arguments if its entry is not before from. Returns
 * -1 on error.
 */
int dt_window_calls(struct dt_windows *w, uint64_t from, uint64_t to,
		    void (*fn)(void *ctx, const struct dt_call *c), void *ctx, struct dt_error *e);

/* The waits of threads, as in struct dt_pair_events. */
typedef void dt_window_wait(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin,
			    uint64_t end, bool preempted, const char *what,
			    const struct dt_wait_ended *ended);

/* As dt_window_calls(), and calls `wait' for every wait that ends in [from, to]. */
int dt_window_waits(struct dt_windows *w, uint64_t from, uint64_t to,
		    void (*fn)(void *ctx, const struct dt_call *c), dt_window_wait *wait, void *ctx,
		    struct dt_error *e);

/* Returns the reader, for what is not in the bars. */
struct dt_reader *dt_windows_reader(struct dt_windows *w);
/* Returns the filter; NULL: there is none. */
struct dt_filter *dt_windows_filter(struct dt_windows *w);

#endif
