/* SPDX-License-Identifier: MIT */
/* The table of report --waits. */
#ifndef DT_CMD_REPORT_WAITS_H
#define DT_CMD_REPORT_WAITS_H

#include "analyse/pair.h"
#include "cmd/open.h"

/* Reads the calls that are asked for, and gives them to events. Returns -1 on error. */
typedef int dt_report_read_fn(void *ctx, const struct dt_pair_events *events, struct dt_error *e);

/* Prints which functions waited in what read() reads, for what and how long; rows 0: all of them.
 * columns: of the terminal, 0 where it is none. Returns the exit status. */
int dt_report_waits(struct dt_reader *r, dt_report_read_fn *read, void *ctx,
		    struct dt_selection *select, uint64_t rows, bool json, unsigned columns);

#endif
