/* SPDX-License-Identifier: MIT */
/*
 * What of a sum can be found by whoever has only the numbers of a call (filter/conditions.h): so
 * the kernel can sum calls up where they are made, without a record.
 */
#ifndef DT_FILTER_SUMS_PLAN_H
#define DT_FILTER_SUMS_PLAN_H

#include "filter/conditions.h"
#include "filter/sums.h"

/* Where a value is, or a key. */
struct dt_sums_source {
	enum {
		DT_SUMS_FROM_NOTHING, /* a call of this function has no such value */
		DT_SUMS_FROM_TIME,
		DT_SUMS_FROM_SELF,
		DT_SUMS_FROM_ARGUMENT, /* the entry's value `at' */
		DT_SUMS_FROM_RESULT,   /* the exit's first value */
		DT_SUMS_FROM_ERROR, /* of that: from -4095 to -1 it is a negated error, else none */
		DT_SUMS_FROM_THREAD,
		DT_SUMS_FROM_PROCESS,
		DT_SUMS_FROM_FUNCTION,
	} from;
	uint8_t at, size; /* size: its bytes, 1 to 8 */
	bool has_sign;
};

/* What a sum wants of the calls of a function. */
struct dt_sums_plan {
	bool counts; /* there is no value */
	bool hist;
	unsigned keys;
	struct dt_sums_source value, key[DT_SUMS_KEYS];
	struct dt_conditions conditions; /* exact */
};

/*
 * Makes the plan of sum i for the calls of a function. texts: records behind an entry may say what
 * its arguments lead to. Returns NULL, or the word of the sum for which its calls have to be
 * recorded, valid as long as the sum.
 */
const char *dt_sums_plan(struct dt_sums *s, size_t i, uint32_t function, bool texts,
			 struct dt_sums_plan *p);

#endif
