/* SPDX-License-Identifier: MIT */
/*
 * What of a filter can be decided by whoever has only the numbers of a call: the four values of its
 * entry, of its exit, and how long it took. So the kernel can leave calls out before they are
 * recorded.
 */
#ifndef DT_FILTER_CONDITIONS_H
#define DT_FILTER_CONDITIONS_H

#include "filter/filter.h"

#define DT_CONDITIONS 6

/* in place of an operator: it is a negated number of an error, or it is none */
#define DT_CONDITION_FAILED 'k'
#define DT_CONDITION_GOOD   'g'

/* A condition on a value: '=', '!' (not equal), '<', '>', or one of those above. */
struct dt_condition {
	uint8_t at, size; /* index of the value; its bytes, 1 to 8 */
	bool of_exit;	  /* the exit's value, not the entry's */
	bool has_sign;
	char op;
	uint64_t number;
};

/* What is true of each call of a function that a filter wants. It may not want all that have it. */
struct dt_conditions {
	bool never;	     /* it wants none of them */
	bool exact;	     /* it wants all that have it, and are made where it looks */
	uint64_t least;	     /* ticks that they take */
	double above, below; /* the same more exactly: they take more than the one and less than the
				other; INFINITY: however long */
	unsigned n;
	struct dt_condition condition[DT_CONDITIONS];
};

/* Returns whether what a filter wants stays the same where calls that it does not want are not
 * there. */
bool dt_filter_is_plain(const struct dt_filter *f);

/* Finds what is true of the calls of a function, of which the meanings know by now. */
void dt_filter_conditions(struct dt_filter *f, uint32_t function, struct dt_conditions *c);

#endif
