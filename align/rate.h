/* SPDX-License-Identifier: MIT */
/* The bounds of a clock's rate, from bounds of its offset. */
#ifndef DT_ALIGN_RATE_H
#define DT_ALIGN_RATE_H

#include "core/types.h"

/*
 * Returns the least slope that a line can have from a point (x, low) to a later one (x, high): no
 * mean rate between two points can be greater than that. Points are by x, which differ; those
 * without a bound are FAR (align/net.h) away. INFINITY: there is none. room: n numbers.
 */
double dt_rate_most(const int64_t *x, const int64_t *low, const int64_t *high, size_t n,
		    size_t *room);

#endif
