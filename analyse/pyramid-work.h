/* SPDX-License-Identifier: MIT */
/* A pyramid that is being built: for the files of the pyramid only. */
#ifndef DT_ANALYSE_PYRAMID_WORK_H
#define DT_ANALYSE_PYRAMID_WORK_H

#include "filter/filter.h"
#include "analyse/pyramid.h"
#include "store/varint.h"

#define DT_DEPTHS (1u << 20) /* bars that are deeper have no cells */

struct cell; /* pyramid-cells.c */

/* One depth of a track. */
struct line {
	uint32_t used; /* bit k: cell[k] is not empty */
	struct cell *cell[DT_LEVELS];
};

/* The depths of a track. */
struct lines {
	struct line *line;
	uint32_t n;
};

/* What is known while a pyramid is built. */
struct dt_building {
	struct dt_feed *feed;
	struct dt_filter *filter; /* NULL: none */
	struct dt_stats stats;
	struct dt_way_sums ways; /* of the region */
	struct lines *lines;	 /* by track */
	uint32_t lines_room;
	uint32_t last_track; /* track that was looked up last */
	uint64_t *bound;     /* ticks at which regions begin, and one more: after the last */
	size_t bounds;
	bool values;	       /* spans have values */
	unsigned level;	       /* finest level of the region that is being taken */
	bool failed, late;     /* late: the trace has ended */
	struct dt_error error; /* when failed */
	struct dt_bytes scratch;
	struct dt_pyramid *p;
};

/* Remembers why building cannot go on. Returns -1. */
int dt_building_fail(struct dt_building *b, const char *why);

/* Takes a bar of this track that has ended; they come in the order of their ends. Returns -1 on
 * error. */
int dt_building_bar(struct dt_building *b, uint32_t track, const struct dt_bar *x);
/* Takes a bar, or a call, that was open when the trace ended. */
void dt_building_late(struct dt_building *b, uint32_t track, const struct dt_bar *x);
void dt_building_late_call(struct dt_building *b, const struct dt_call *c);

/*
 * Puts the cells that end before `now' (ticks; UINT64_MAX: all) into their lanes, so that lanes are
 * not far from the order of time, and a thread that is gone takes no memory. Returns -1 on error.
 */
int dt_building_close_cells(struct dt_building *b, uint64_t now);
void dt_building_free_cells(struct dt_building *b);

/* Makes room in the hash table of tracks for one more. Returns -1 when out of memory. */
int dt_pyramid_more_slots(struct dt_pyramid *p);

/* Takes everything but the bars from the head that a file has. -1: it is damaged, or is of another
 * state of the trace; -2: it was made by another version of devtrace. */
int dt_pyramid_read_head(struct dt_pyramid *p, const struct dt_bytes *head);

#endif
