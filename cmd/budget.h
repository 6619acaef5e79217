/* SPDX-License-Identifier: MIT */
/* What was not recorded to keep to a budget (--budget), as text. */
#ifndef DT_CMD_BUDGET_H
#define DT_CMD_BUDGET_H

#include "store/reader.h"
#include "symbols/pattern.h"

/* Prints when each function was off and how many calls it is thought to have made then, the most
 * calls first; rows 0: all. Returns the exit status. */
int dt_budget_table(struct dt_reader *r, struct dt_selection *select, uint64_t rows, bool json);

#endif
