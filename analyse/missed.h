/* SPDX-License-Identifier: MIT */
/* How many calls are not in a trace since their functions were off to keep to a budget: always an
 * estimate, by how often they were called before and after. */
#ifndef DT_ANALYSE_MISSED_H
#define DT_ANALYSE_MISSED_H

#include "analyse/same.h"
#include "store/store.h"

/* The times in which functions were off, by begin; `function' is the first of a function's rows,
 * `end' that of the trace where it was off to the end. */
struct dt_missed {
	struct dt_budget_row *row;
	size_t n;
	uint64_t last; /* ticks: the last record */
	bool *has;     /* by function: it was off at some time */
	uint32_t functions;
	struct dt_same same;
	bool no_memory;
};

/* Reads them, none of a recording without a budget. -1 and the error; dt_missed_free() either way.
 */
int dt_missed_read(struct dt_missed *m, struct dt_reader *r, struct dt_error *e);
void dt_missed_free(struct dt_missed *m);

/* Returns whether a function, the first of its rows, was off at some time. */
static inline bool dt_missed_has(const struct dt_missed *m, uint32_t function)
{
	return function < m->functions && m->has[function];
}

/* What a function misses of a range of time. Where that begins or ends while it was off, calls are
 * counted as if they had been made evenly. */
struct dt_missed_sum {
	uint64_t times, calls, ticks; /* ticks: for how long, together */
};
struct dt_missed_sum dt_missed_of(const struct dt_missed *m, uint32_t function, uint64_t from,
				  uint64_t to);

#endif
