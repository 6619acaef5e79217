/* SPDX-License-Identifier: MIT */
/* The table of report --waits. */
#ifndef DT_CMD_REPORT_WAITS_H
#define DT_CMD_REPORT_WAITS_H

#include "cmd/open.h"

/* Prints which functions waited in the range, for what and how long; rows 0: all of them. Returns
 * the exit status. */
int dt_report_waits(struct dt_reader *r, const struct dt_reader_range *range,
		    struct dt_selection *select, uint64_t rows, bool json);

#endif
