/* SPDX-License-Identifier: MIT */
/* Knots: a clock's reference times as straight lines. */
#ifndef DT_ALIGN_KNOTS_H
#define DT_ALIGN_KNOTS_H

#include "align/net.h"

/* Makes the knots of a clock from the bounds of its nodes' values, and what is drawn. -1: out of
 * memory. */
int dt_knots_make(struct dt_aligned_clock *to, uint32_t clock, const struct dt_net *g,
		  const int64_t *low, const int64_t *high, const int64_t *drawn,
		  const struct dt_cut *cut, size_t cuts);

/* Gives the reference times of a time of a clock; before its first and after its last knot, as if
 * its rate could be any that is assumed of a clock. */
struct dt_knot dt_knots_place(const struct dt_knot *knot, size_t n, int64_t x);

#endif
