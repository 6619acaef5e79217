/* SPDX-License-Identifier: MIT */
/* What devtrace diff was asked for: the table of functions, or where the traces diverge. */
#ifndef DT_CMD_DIFF_H
#define DT_CMD_DIFF_H

#include "cmd/open.h"

struct dt_diff {
	const char *path[2];
	struct dt_reader *reader[2];
	struct dt_selection select;
	struct dt_range_options when;
	int key;
	uint64_t rows; /* 0: all */
	bool json, subtract, first, arguments, results, pointers;
};

/* Which trace is A, and which is B. */
void dt_diff_print_traces(const struct dt_diff *d);

/* --first; the exit status. */
int dt_diff_first(struct dt_diff *d);

#endif
