/* SPDX-License-Identifier: MIT */
/* Offsets between the cores' cycle counters. Where the counters run as one, as on nearly all of
 * today's machines, every offset is smaller than what can be measured, and no time is changed. */
#ifndef DT_SESSION_OFFSETS_H
#define DT_SESSION_OFFSETS_H

#include "core/record.h"

/* The offset of one core's counter. */
struct dt_offset {
	int64_t ahead;	/* ticks by which this core's counter is ahead of the first core's */
	uint64_t error; /* ticks by which `ahead' may be wrong; ~0: not measured (we may not run on
			   the core) */
};

#define DT_OFFSETS_PATIENCE 50000000ull /* ticks */

/* Takes over the offset that one exchange of readings gives, if it is more certain than *best. t0,
 * t3: readings of the asking core, before and after; t1, t2: those of the answering core. */
void dt_offset_take(struct dt_offset *best, uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3);

/* Measures the offsets of all cores; `offset' has room for so many. Takes some 0.2 ms a core, on a
 * busy machine up to `patience' (ticks) for each. False: nothing could be measured. */
bool dt_offsets_measure(struct dt_offset *offset, unsigned cores, uint64_t patience);

/* Returns what has to be subtracted from a core's ticks: its offset if that is more than its error,
 * else 0. */
int64_t dt_offset_correction(const struct dt_offset *offset);

#endif
