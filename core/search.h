/* SPDX-License-Identifier: MIT */
/* Searching what is sorted. */
#ifndef DT_SEARCH_H
#define DT_SEARCH_H

#include "core/types.h"

/*
 * How many of n sorted elements come before what is looked for: so the index of the first that does
 * not, n when all do. `before' is a condition on the element of index `i', which it names; it holds
 * for the first elements and for none behind them.
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
