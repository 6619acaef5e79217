/* SPDX-License-Identifier: MIT */
/*
 * The pyramid: a trace summed up so that any window of it is drawn from about as many bars as the
 * picture has pixels.
 *
 * A track is what has a line of its own: a thread, with its calls as nested bars; a core, with the
 * threads that ran there; an event. Level k has cells of 4^k ticks, aligned. A bar of 4^k ticks or
 * longer, but shorter than 4^(k+1), is kept by itself at level k; at every level above, it is
 * summed up with all others of its track and depth that end in the same cell, up to a level whose
 * cells are as long as the trace. So a picture with
 * cells of 4^k ticks is made of what is summed up at level k, and of what is kept by itself at
 * level k and above.
 *
 * The trace is cut into regions of some 65,000 records. A region's finest level is chosen so that
 * the region fills a picture by itself; anything finer is drawn from its records, starting from a
 * snapshot of the pairing at its beginning. What was open when the trace ended is in no region, but
 * in a lane of its own. Memory is bounded by threads and depths, not by the length of the trace.
 */
#ifndef DT_ANALYSE_PYRAMID_H
#define DT_ANALYSE_PYRAMID_H

#include "analyse/feed.h"
#include "analyse/stats.h"

struct dt_track {
	uint8_t kind; /* enum dt_track_kind, which also says what id is */
	uint32_t id;
	uint32_t pid;	     /* process of a thread; 0: not known */
	uint32_t depths;     /* greatest depth of its bars, plus one */
	uint64_t count;	     /* calls, runs, events */
	uint64_t begin, end; /* ticks */
};

struct dt_region {
	uint64_t begin, end; /* ticks of its first record, and of the next region's first */
	uint64_t records;
	int64_t snapshot; /* of the pairing at its beginning, for dt_bars_load(); 0: nothing is
			     known there */
	int64_t stats;	  /* statistics of the calls that end in it, for dt_bars_load() and
			     dt_stats_add() */
	int64_t ways;	  /* sums of the ways of these calls, for dt_bars_load() and
			     dt_way_sums_take(); they are there if stats are */
	uint8_t level;	  /* the finest level */
};

#define DT_LATE_LEVEL                                                                              \
	(DT_LEVELS - 1) /* of a tail; its lane of single bars has what was open at the end */

struct dt_pyramid {
	struct dt_reader *reader;
	char *filter; /* text of its filter; NULL: everything is in it */
	struct dt_bars *bars;
	struct dt_track *track;
	uint32_t tracks;
	uint32_t *slot; /* hash table of indices of tracks, plus one; open addressing */
	uint32_t slots;
	struct dt_region *region;
	size_t regions;
	uint64_t begin, end;	 /* ticks of the first and last record */
	uint64_t records, total; /* records taken so far; in the file when building began */
	bool complete;
	bool anyway;	/* build it even if the trace does not add up */
	uint64_t guard; /* argument of dt_pyramid_follow(); otherwise 0 */
	bool ended;	/* `begin' and `end' are those of the whole trace */
	bool live;	/* it follows a trace that is being recorded */
	bool tail; /* the last region is still growing: it is drawn from its records, however coarse
		      the picture is */
	/* calls that were open when the trace ended; they are in no region's statistics */
	struct dt_call *late;
	size_t lates;
	struct dt_ways ways;	      /* by which calls were reached */
	struct dt_building *building; /* NULL: the pyramid was read from the file */
};

/* Reads the pyramid of the trace at path. If the file has none, returns an empty one, which
 * dt_pyramid_build() fills. NULL on error. */
struct dt_pyramid *dt_pyramid_open(struct dt_reader *r, const char *path, struct dt_error *e);
/* Makes an empty pyramid, which is to have only what a filter wants; it does not belong in the file
 * and is not saved. NULL on error. */
struct dt_pyramid *dt_pyramid_filtered(struct dt_reader *r, const char *filter, struct dt_error *e);
void dt_pyramid_close(struct dt_pyramid *p);

/* Takes about n more records, but at least a region. 1: there are more; 0: it is complete; -1:
 * error. */
int dt_pyramid_build(struct dt_pyramid *p, uint64_t n, struct dt_error *e);

/*
 * Takes what a trace that is being recorded has got since the last call. Records older than `guard'
 * ticks are assumed to be complete; the rest is the tail, which windows read. ended: nothing more
 * will come, and the pyramid is completed. 2: there is more to take, call again; 1: records came so
 * late that the pyramid lacks them, and must be made again; 0: all is taken; -1: error.
 */
int dt_pyramid_follow(struct dt_pyramid *p, uint64_t guard, bool ended, struct dt_error *e);

/* Notes that something of this track is in the tail. Returns -1 when out of memory. */
int dt_pyramid_meet(struct dt_pyramid *p, enum dt_track_kind kind, uint32_t id,
		    const struct dt_bar *x);

/* Calls fn for the calls of a thread that are open where building has come to, as
 * dt_feed_open_calls() does; of a pyramid that is complete, or has a filter, for none. */
void dt_pyramid_open_calls(const struct dt_pyramid *p, uint32_t tid,
			   bool (*fn)(void *ctx, const struct dt_call *c), void *ctx);

/* Puts a complete pyramid into the trace file. Returns -1 on error. */
int dt_pyramid_save(struct dt_pyramid *p, const char *path, struct dt_error *e);

/* Returns the index of the region that has the first record at or after ticks, or of the last
 * region. */
size_t dt_pyramid_region(const struct dt_pyramid *p, uint64_t ticks);

/* Adds x to what `to' sums up; a *to with count 0 is empty. The field `what' (which took most) is
 * left to the caller. */
void dt_bar_join(struct dt_bar *to, const struct dt_bar *x);
/* Returns the level at which a bar of that length is kept by itself; -1: there is none. */
int dt_pyramid_level(uint64_t length);
/* Returns the highest level that has sums: one cell of it is as long as the trace, so that levels
 * above would have the same again. */
unsigned dt_pyramid_highest(const struct dt_pyramid *p);

/* Returns a track; NULL: there is none. */
struct dt_track *dt_pyramid_track(const struct dt_pyramid *p, enum dt_track_kind kind, uint32_t id);

#endif
