/* SPDX-License-Identifier: MIT */
/* The insides of sums, for sums.c (what is done with calls) and sums-list.c (which sums there are)
 * only. */
#ifndef DT_FILTER_SUMS_WORK_H
#define DT_FILTER_SUMS_WORK_H

#include "filter/failures.h"
#include "filter/operand.h"
#include "filter/sums.h"

/* Bits of a note for one sum. */
#define DT_SUMS_BITS   4u
#define DT_SUMS_COUNTS 8u /* it is wanted by what was known at its beginning */

/* Where a function has the values that a sum wants. */
struct dt_sums_places {
	struct dt_call_operand_place at[1 + DT_SUMS_KEYS]; /* of the value, and of the keys */
};

struct dt_sums_one {
	char *text; /* its words */
	struct dt_sums_words words;
	struct dt_filter *filter;	 /* NULL: all calls are wanted */
	struct dt_sums_places *function; /* by row */
	uint32_t functions;
	struct dt_sums_row **slot; /* open addressing by key; size is a power of two */
	size_t size;
	struct dt_sums_row **row; /* in the order of `number' */
	uint32_t rows, room;
	size_t bytes; /* of the rows */
	struct dt_sums_totals totals;
};

struct dt_sums {
	struct dt_sums_one sum[DT_SUMS_MOST];
	size_t n;
	struct dt_meanings meanings;
	struct dt_failures failures;
	uint64_t seed; /* of hashes: a program must not choose which keys collide */
	bool no_memory;
};

#endif
