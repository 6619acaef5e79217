/* SPDX-License-Identifier: MIT */
/* A pyramid that is being built: for the files of the pyramid only. */
#ifndef DT_ANALYSE_PYRAMID_WORK_H
#define DT_ANALYSE_PYRAMID_WORK_H

#include "analyse/filter.h"
#include "analyse/pyramid.h"
#include "store/varint.h"

#define DT_DEPTHS (1u << 20)

struct cell; /* pyramid-cells.c */

/* One depth of a track. */
struct line {
	uint32_t used; /* bit k: cell[k] has something */
	struct cell *cell[DT_LEVELS];
};

struct lines {
	struct line *line;
	uint32_t n;
};

struct dt_building {
	struct dt_feed *feed;
	struct dt_filter *filter; /* NULL: none */
	struct dt_stats stats;
	struct lines *lines; /* by track */
	uint32_t lines_room;
	uint32_t last_track; /* looked up last */
	uint64_t *bound;     /* ticks: where regions begin; one more: behind the last */
	size_t bounds;
	bool values;	       /* spans are read with theirs */
	unsigned level;	       /* of the region that is being taken */
	bool failed, late;     /* late: the trace has ended */
	struct dt_error error; /* when failed */
	struct dt_bytes scratch;
	struct dt_pyramid *p;
};

/* Remembers why it can not go on: -1. */
int dt_building_fail(struct dt_building *b, const char *why);

/* A bar that ended, of this track; they come in the order of their ends. */
int dt_building_bar(struct dt_building *b, uint32_t track, const struct dt_bar *x);
/* One that was open when the trace ended. */
void dt_building_late(struct dt_building *b, uint32_t track, const struct dt_bar *x);
void dt_building_late_call(struct dt_building *b, const struct dt_call *c);

/* Cells that end before now (ticks; UINT64_MAX: all) are kept, so that lanes are not far from the
 * order of time, and who is gone keeps no memory. */
int dt_building_close_cells(struct dt_building *b, uint64_t now);
void dt_building_free_cells(struct dt_building *b);

/* Room in the index of tracks for one more than there are. */
int dt_pyramid_more_slots(struct dt_pyramid *p);

/* What a file has of it: all but the bars. -1: it is damaged, or of another state of the trace; -2:
 * it was made by another version of this. */
int dt_pyramid_read_head(struct dt_pyramid *p, const struct dt_bytes *head);

#endif
