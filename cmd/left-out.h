/* SPDX-License-Identifier: MIT */
/* What a filter has left out while a trace was recorded, as text. */
#ifndef DT_CMD_LEFT_OUT_H
#define DT_CMD_LEFT_OUT_H

#include "store/reader.h"
#include "symbols/pattern.h"

/* Prints the sums of these calls by function, the longest first; rows 0: all. Returns the exit
 * status. */
int dt_left_out_table(struct dt_reader *r, struct dt_selection *select, uint64_t rows, bool json);

#endif
