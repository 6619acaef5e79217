/* SPDX-License-Identifier: MIT */
/*
 * The pyramid: a trace summed up so that any window of it is drawn from about as many bars as the
 * picture has pixels.
 *
 * A track is what has a line of its own: a thread, with its calls as bars, nested; a core, with who
 * ran there; an event. Level k has cells of 4^k ticks, aligned. A bar of 4^k ticks or longer, but
 * shorter than 4^(k+1), is kept by itself at level k; at every level above, it is summed up with
 * all others of its track and depth that end in the same cell. So a picture with cells of 4^k ticks
 * is made of what is summed up at level k, and of what is by itself at k and above.
 *
 * The trace is cut in regions of some 256,000 records. A region's finest level is such that it
 * fills a picture by itself; what is finer is drawn from its records, from a snapshot of the
 * pairing at its beginning. What was open when the trace ended is in no region, but in a lane of
 * its own. Memory is bounded by threads and depths, not by the length of the trace.
 */
#ifndef DT_ANALYSE_PYRAMID_H
#define DT_ANALYSE_PYRAMID_H

#include "analyse/feed.h"
#include "analyse/stats.h"

struct dt_track {
	uint8_t kind;
	uint32_t id;
	uint32_t pid;	     /* of a thread; 0: not known */
	uint32_t depths;     /* greatest depth, plus one */
	uint64_t count;	     /* calls, runs, events */
	uint64_t begin, end; /* ticks */
};

struct dt_region {
	uint64_t begin, end; /* ticks: of its first record; of the next region's first */
	uint64_t records;
	int64_t snapshot; /* for dt_bars_load(); 0: nothing is known at its beginning */
	int64_t stats;	  /* the same: of the calls that end in it, for dt_stats_add() */
	uint8_t level;	  /* the finest */
};

#define DT_LATE_LEVEL                                                                              \
	(DT_LEVELS - 1) /* of a tail; bars of what was open at the end: a lane of single ones      \
			 */

struct dt_pyramid {
	struct dt_reader *reader;
	char *filter; /* its text; NULL: it has everything */
	struct dt_bars *bars;
	struct dt_track *track;
	uint32_t tracks;
	uint32_t *slot; /* open addressing of tracks, plus one */
	uint32_t slots;
	struct dt_region *region;
	size_t regions;
	uint64_t begin, end;	 /* ticks of the first and last record */
	uint64_t records, total; /* taken so far; in the file when it began */
	bool complete;
	bool anyway;	/* also of a trace that does not add up */
	uint64_t guard; /* of dt_pyramid_follow(); else 0 */
	bool live;	/* it follows a trace that is being recorded */
	bool tail; /* the last region is still growing: drawn from its records, however coarse */
	/* calls that were open when the trace ended; not in any region's statistics */
	struct dt_call *late;
	size_t lates;
	struct dt_building *building; /* NULL: it was read from the file */
};

/* Of a file that has one: reads it. Otherwise it is empty, and dt_pyramid_build() makes it. */
struct dt_pyramid *dt_pyramid_open(struct dt_reader *r, const char *path, struct dt_error *e);
/* An empty one, that is to have what a filter wants; it is no file's, and not saved. */
struct dt_pyramid *dt_pyramid_filtered(struct dt_reader *r, const char *filter, struct dt_error *e);
void dt_pyramid_close(struct dt_pyramid *p);

/* Takes about n more records, a region at least. 1: there are more; 0: it is complete; -1: error.
 */
int dt_pyramid_build(struct dt_pyramid *p, uint64_t n, struct dt_error *e);

/*
 * Takes what a trace that is being recorded has got since the last time. What is older than `guard'
 * ticks is taken to be all there; the rest is the tail, which windows read. ended: nothing more
 * will come, and it is completed. 1: records came so late that they are missing in it: it is to be
 * made again; 0: all right; -1: error.
 */
int dt_pyramid_follow(struct dt_pyramid *p, uint64_t guard, bool ended, struct dt_error *e);

/* Something of this track is in the tail. -1: out of memory. */
int dt_pyramid_meet(struct dt_pyramid *p, enum dt_track_kind kind, uint32_t id,
		    const struct dt_bar *x);

/* Puts a complete one into the trace file. */
int dt_pyramid_save(struct dt_pyramid *p, const char *path, struct dt_error *e);

/* The region that has the first record at or after ticks; or the last. */
size_t dt_pyramid_region(const struct dt_pyramid *p, uint64_t ticks);

/* Adds x to what `to' has; *to with count 0 is nothing yet. Which took most is not decided. */
void dt_bar_join(struct dt_bar *to, const struct dt_bar *x);
/* The level at which a bar of that length is by itself; -1: it has none. */
int dt_pyramid_level(uint64_t length);

/* NULL: there is none. */
struct dt_track *dt_pyramid_track(const struct dt_pyramid *p, enum dt_track_kind kind, uint32_t id);

#endif
