/* SPDX-License-Identifier: MIT */
/*
 * A number of each call of one function over time: how long it took, an argument, its result. Time
 * is cut into columns; each has the calls that ended in it: how many, and the least, the greatest
 * and the sum of their numbers, exactly. Durations over a long time are added up from what the
 * pyramid keeps of each region; arguments and results are read from the records once, and kept in
 * a few cells for each region.
 */
#ifndef DT_ANALYSE_PLOT_H
#define DT_ANALYSE_PLOT_H

#include "analyse/window.h"

#define DT_PLOT_COLUMNS 4000 /* at most */

enum dt_plot_what { DT_PLOT_DURATION, DT_PLOT_RESULT, DT_PLOT_ARGUMENT };

struct dt_plot_cell {
	uint64_t begin, end; /* ticks, both inclusive */
	uint64_t calls;	     /* that ended in it, those without an entry excepted */
	uint64_t n;	     /* how many of these have a number; with 0, the rest is 0 */
	long double min, max, sum;
};

struct dt_plot_asked {
	/* set by the caller */
	uint64_t from, to; /* ticks, both inclusive */
	unsigned columns;
	double seconds; /* after which reading is to end; one step is made in any case */
	/* set by dt_plot_read(): `n' columns, those of a long time only where there is something */
	struct dt_plot_cell column[DT_PLOT_COLUMNS];
	unsigned n;
	bool even;   /* columns are of one width; otherwise they are made of parts of regions */
	double done; /* share of the range that has been read: if less than 1, ask again */
};

struct dt_plot;

/* Begins a plot of a function, a row of the reader's, and those that are the same. index: of an
 * argument, from 0. NULL: out of memory. */
struct dt_plot *dt_plot_new(const struct dt_reader *r, uint32_t function, enum dt_plot_what what,
			    unsigned index);
void dt_plot_free(struct dt_plot *g);
/* Returns whether it is a plot of that. */
bool dt_plot_is(const struct dt_plot *g, uint32_t function, enum dt_plot_what what, unsigned index);
/* Reads a range; w must always be the same windows. Returns -1 on error. */
int dt_plot_read(struct dt_plot *g, struct dt_windows *w, struct dt_plot_asked *a,
		 struct dt_error *e);

#endif
