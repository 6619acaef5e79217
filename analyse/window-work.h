/* SPDX-License-Identifier: MIT */
/* The insides of windows, for window.c (the whole, and calls), window-region.c, window-bars.c and
 * window-sums.c only. */
#ifndef DT_ANALYSE_WINDOW_WORK_H
#define DT_ANALYSE_WINDOW_WORK_H

#include "analyse/feed.h"
#include "analyse/window.h"

#define CACHED 4	  /* regions whose short bars are kept in memory */
#define CELLS  (1u << 26) /* the most cells of a window, over all depths */

/* A bar of a region, and its track. */
struct short_bar {
	uint32_t track;
	struct dt_bar bar;
};

/* The bars of a region that are too short for the pyramid, by track, in the order of their ends. */
struct shorts {
	size_t region; /* index plus one; 0: none */
	uint64_t used, records;
	uint8_t level; /* level of the region when it was read */
	size_t n;
	uint32_t *first; /* by track: index of its first bar in sorted; one more at the end */
	struct dt_bar *sorted;
};

struct dt_windows {
	struct dt_pyramid *pyramid;
	struct dt_reader *reader;
	struct dt_filter
		*filter; /* a filter with the pyramid's text, for this reader; NULL: none */
	struct dt_feed *feed;
	bool values, no_memory;
	bool in_tail; /* the region that is being read is the pyramid's tail */
	struct shorts cache[CACHED];
	uint64_t clock;
	/* where the feed's bars and calls go */
	bool filling; /* into `bar': those that are too short for the pyramid, in the order in which
			 they come */
	struct short_bar *bar;
	size_t bars, bar_room;
	uint64_t limit; /* bars shorter than this, in ticks, are short ones */
	void (*call)(void *ctx, const struct dt_call *c);
	dt_window_wait *wait; /* NULL: waits are not wanted */
	void *ctx;
	uint64_t from, to; /* ticks: calls that end in between go to `call' */
	/* the window being made */
	const struct dt_window *window;
	struct dt_bar_list *list;
	int32_t *cell; /* by depth and cell: index in list, -1: none */
	size_t cells, cell_room;
	uint32_t depths; /* depths for which there are cells */
	uint64_t first_cell;
	struct dt_bytes scratch;
};

static inline int dt_window_no_memory(struct dt_error *e)
{
	return dt_fail(e, "out of memory for the time line");
}

/* ---- window-region.c ---- */

/* Makes the feed, whose bars and calls go where w says. Returns -1 when out of memory. */
int dt_windows_feed(struct dt_windows *w);
/* Feeds the records of regions `first' to `last', up to tick `to'. Returns -1 on error. */
int dt_window_read_regions(struct dt_windows *w, size_t first, size_t last, uint64_t to,
			   bool values, struct dt_error *e);
/* Returns the short bars of a region, which stay until those of CACHED others have been asked for.
 * NULL on error. */
struct shorts *dt_window_shorts(struct dt_windows *w, size_t region, struct dt_error *e);

#endif
