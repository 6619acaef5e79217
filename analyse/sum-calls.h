/* SPDX-License-Identifier: MIT */
/* Sums over the calls of a trace that is there. */
#ifndef DT_ANALYSE_SUM_CALLS_H
#define DT_ANALYSE_SUM_CALLS_H

#include "filter/sums.h"
#include "store/reader.h"

/* Reads a range of the trace, and adds its calls to the sums. *folded: how many calls were a part
 * of others (analyse/pair.h). Returns -1 on error. */
int dt_sum_calls(struct dt_reader *r, struct dt_sums *sums, struct dt_reader_range *range,
		 uint64_t *folded, struct dt_error *e);

#endif
