/* SPDX-License-Identifier: MIT */
/*
 * How far the cores' cycle counters are apart. Where they run as one, as on nearly all of today's
 * machines, every offset is smaller than what can be measured, and nothing is changed.
 */
#ifndef DT_SESSION_OFFSETS_H
#define DT_SESSION_OFFSETS_H

#include "core/record.h"

struct dt_offset {
	int64_t ahead;	/* ticks: this core's counter before the first core's */
	uint64_t error; /* it may be off by so much; ~0: not measured (the core is not ours to use)
			 */
};

#define DT_OFFSETS_PATIENCE 50000000ull

/* An answer to one exchange: what it says, if it is surer than what is known. */
void dt_offset_take(struct dt_offset *best, uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3);

/*
 * Takes some 0.2 ms a core, on a busy machine up to patience (ticks) for each. offset has room for
 * cores; false: nothing could be measured.
 */
bool dt_offsets_measure(struct dt_offset *offset, unsigned cores, uint64_t patience);

/* What has to be taken from a core's ticks: its offset where that is more than its error, or 0. */
int64_t dt_offset_correction(const struct dt_offset *offset);

#endif
