/* SPDX-License-Identifier: MIT */
/*
 * How long the calls of one function took, over time: for each stretch of time, how many of the
 * calls that ended in it took how long, by the buckets of analyse/stats.h.
 */
#ifndef DT_ANALYSE_HEAT_H
#define DT_ANALYSE_HEAT_H

#include "analyse/same.h"
#include "analyse/window.h"

#define DT_HEAT_COLUMNS 1000 /* at most */

struct dt_heat_column {
	uint64_t begin,
		end;	  /* ticks, both inclusive; a column without calls has the planned ones */
	uint64_t *bucket; /* DT_BUCKETS of them; NULL: no call */
};

struct dt_heat {
	/* set by the caller */
	const struct dt_same *same;
	uint32_t function; /* row */
	uint64_t from, to; /* ticks, both inclusive */
	unsigned columns;
	/* set by dt_heat_count(); the rest is 0 at first */
	struct dt_heat_column column[DT_HEAT_COLUMNS];
	/* whether columns are of one width: in a range of very many records they are made of whole
	 * regions of the pyramid */
	bool even;
	uint64_t calls, untimed; /* that ended in the range; whose time is not known */
	bool no_memory;
};

/* Counts. Returns -1 on error; the caller calls dt_heat_free() in any case. */
int dt_heat_count(struct dt_heat *h, struct dt_windows *w, const struct dt_pyramid *p,
		  struct dt_error *e);
void dt_heat_free(struct dt_heat *h);

#endif
