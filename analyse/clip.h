/* SPDX-License-Identifier: MIT */
/*
 * What ran in a range of time: a call that runs across its edges counts by its part inside. A
 * region that lies inside is taken from the pyramid's sums, the two at the edges from their
 * records. The range is from just after the first tick to the last one, so that two ranges that
 * touch have together what the range of both has.
 *
 * A call whose begin or end is not known, or not to be trusted, has no time here either (as in
 * analyse/stats.h); one that has not ended when the trace ends counts up to there.
 */
#ifndef DT_ANALYSE_CLIP_H
#define DT_ANALYSE_CLIP_H

#include "analyse/window.h"

/* Of a function: what is not in its dt_function_stats. */
struct dt_clip_function {
	uint64_t calls; /* that ran in the range */
	uint64_t cut;	/* how many of them did not begin or did not end in it */
	int64_t total;	/* ticks; calls of it in another call of it count once */
	int64_t self;
};

struct dt_clip {
	/* set by the caller: ticks */
	uint64_t from, to;
	bool want_ways; /* otherwise nothing is added to `ways' but at the edges */
	/* the rest is 0 at first */
	struct dt_stats stats;		   /* of whole calls: those that end in the range */
	struct dt_clip_function *function; /* by function row, `functions' of them */
	uint32_t functions;
	struct dt_way_sums ways;    /* calls that end in the range; self time in it */
	struct dt_track_sum *track; /* by track, `tracks' of them; events have those in the range */
	uint32_t tracks;
};

/* Fills in c. Returns -1 on error; the caller calls dt_clip_free() in any case. */
int dt_window_clip(struct dt_windows *w, struct dt_clip *c, struct dt_error *e);
void dt_clip_free(struct dt_clip *c);

#endif
