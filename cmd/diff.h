/* SPDX-License-Identifier: MIT */
/* The parts of devtrace diff: the table of functions, and where two traces diverge. */
#ifndef DT_CMD_DIFF_H
#define DT_CMD_DIFF_H

#include "cmd/open.h"
#include "cmd/terminal.h"

/* What the options ask for. */
struct dt_diff {
	const char *path[2]; /* A, B */
	struct dt_reader *reader[2];
	struct dt_selection select;
	struct dt_range_options when;
	const char *filter; /* only calls that these words mean; NULL: all */
	int key;	    /* by what the table is sorted */
	uint64_t rows;	    /* at most; 0: all */
	double least;	    /* per cent: smaller differences are not said */
	struct dt_terminal terminal;
	bool json, subtract, first, arguments, results, pointers;
};

/* Prints which trace is A and which is B. */
void dt_diff_print_traces(const struct dt_diff *d);

/* Does what --first asks for, and returns the exit status. */
int dt_diff_first(struct dt_diff *d);

#endif
