/* SPDX-License-Identifier: MIT */
/*
 * The text that Plan 9's createplot made of a trace for gnuplot ("plotme"): a line for each call,
 * in the order in which calls end,
 *
 *	middle row half half name
 *
 * middle: of the call, in ticks from the trace's first record. row: 0, 1, 2… half: half of its
 * duration. Plotted as columns 1:2:3 with horizontal error bars, a bar is the call.
 */
#ifndef DT_ANALYSE_STACKIFY_H
#define DT_ANALYSE_STACKIFY_H

#include "core/types.h"

struct dt_stackify {
	uint64_t first; /* ticks of the trace's first record */
	uint64_t min;	/* calls that took fewer ticks are dropped */
	uint64_t row;	/* row of the next call */
	char separator; /* between columns: ' ', or '\t' where names may hold spaces */
};

/* The most bytes that a line takes, not counting the name. */
#define DT_STACKIFY_LINE 128

/* Writes a call's line and its newline, without a terminating NUL, to out. Returns the length; 0:
 * the call is dropped. */
size_t dt_stackify_call(struct dt_stackify *s, char *out, uint64_t begin, uint64_t end,
			const char *name);

#endif
