/* SPDX-License-Identifier: MIT */
/* Searches what is sorted. */
#ifndef DT_SEARCH_H
#define DT_SEARCH_H

#include "core/types.h"

/*
 * Returns how many of n sorted elements come before what is looked for. This is the index of the
 * first that does not, and n if all do. `before' is an expression that uses the name given as `i'
 * for the index of an element; it is true for the first elements and false for all after them.
 */
#define dt_count_before(n, i, before)                                                              \
	({                                                                                         \
		size_t low_ = 0, high_ = (n);                                                      \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
                                                                                                   \
			if (before)                                                                \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
