/* SPDX-License-Identifier: MIT */
/*
 * Alignment: the clocks of several machines brought to one of them, the reference, with bounds of
 * the error. Pure functions of the evidence: nothing here knows files.
 *
 * Every piece of evidence says that one event, on one clock, was not after another event on another
 * clock, but for a slack. A message is one (sent before received), an exchange of two messages two
 * of them, a reading of the real time with a bound two against a clock that is the real time.
 * Between events a clock's rate differs from the reference's by no more than is assumed. These are
 * difference constraints (Cormen et al., Introduction to Algorithms, "Difference constraints and
 * shortest paths"): shortest paths give the tightest bounds that follow from all evidence, also
 * through third clocks; a negative cycle is evidence that contradicts itself.
 *
 * Times are in units of 1/16 ns. A clock's own time, x, counts from where its owner likes; a
 * reference time, t, is the reference's own time. All are less than 2^58 from 0 (half a year).
 */
#ifndef DT_ALIGN_ALIGN_H
#define DT_ALIGN_ALIGN_H

#include "align/evidence.h"
#include "core/error.h"

/* What became of a piece of evidence: it follows from others, it is one of those that decide, or it
 * is not believed. */
enum dt_fate { DT_FATE_IMPLIED, DT_FATE_DECIDES, DT_FATE_NOT_USED };

struct dt_net;

struct dt_align {
	uint32_t clocks, reference;
	struct dt_aligned_clock *clock;
	struct dt_contradiction *contradiction;
	size_t contradictions;
	uint8_t *fate;	    /* of each piece of evidence: enum dt_fate */
	double wander;	    /* the one that was needed, at least the assumed one */
	struct dt_net *net; /* for dt_align_order() */
};

/*
 * Aligns. `evidence' must last as long as the result. NULL: a number is out of its range, memory is
 * out, or the evidence contradicts itself at more places than make sense; *e says which.
 */
struct dt_align *dt_align_new(const struct dt_align_clock *clock, uint32_t clocks,
			      uint32_t reference, const struct dt_evidence *evidence, size_t n,
			      const struct dt_align_assumed *assumed, struct dt_error *e);
void dt_align_free(struct dt_align *a);

enum dt_order_of { DT_BEFORE, DT_AFTER, DT_ORDER_UNKNOWN };

/* Says how an event of clock a, at xa, is to one of clock b: by everything that is known, also by
 * messages from one to the other through others. Takes time that grows with the evidence. */
enum dt_order_of dt_align_order(const struct dt_align *al, uint32_t a, int64_t xa, uint32_t b,
				int64_t xb);

#endif
