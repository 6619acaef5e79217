/* SPDX-License-Identifier: MIT */
/* Reading when functions were not recorded, since that cost more than the budget allowed. */
#ifndef DT_STORE_BUDGET_H
#define DT_STORE_BUDGET_H

#include "store/reader.h"
#include "store/store.h"

/* Calls fn with each such time (end 0: to the end of the recording), by function and begin; fn
 * returns non-zero to stop, and that is returned. A file without them has none. -1 and the error
 * if they can not be read. */
int dt_budget_read(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_budget_row *row),
		   void *ctx, struct dt_error *e);

/* What was off: functions, times, and calls that are thought to have been made then. */
struct dt_budget_sum {
	uint64_t functions, times, calls;
};
void dt_budget_sum(struct dt_reader *r, struct dt_budget_sum *sum);

#endif
