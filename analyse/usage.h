/* SPDX-License-Identifier: MIT */
/* What a process used over time, cut into columns: bytes of memory, or how many processors it kept
 * busy. What was read at one time is taken to hold until the next time. */
#ifndef DT_ANALYSE_USAGE_H
#define DT_ANALYSE_USAGE_H

#include "analyse/plot.h"
#include "store/usage.h"

enum dt_usage_what { DT_USAGE_MEMORY, DT_USAGE_PROCESSORS };

/* Fills a->column with what lies in the range that was asked for: a column for each time between
 * two readings, or, if these are more than a->columns, columns of one width. `calls' and `n' of a
 * column are the readings that have a part in it; its sum leads to the mean over time. ns_per_tick:
 * of the trace's clock. */
void dt_usage_plot(const struct dt_usages *u, uint32_t pid, enum dt_usage_what what,
		   double ns_per_tick, struct dt_plot_asked *a);

#endif
