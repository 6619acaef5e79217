/* SPDX-License-Identifier: MIT */
/*
 * Times of CLOCK_MONOTONIC, which is the clock that BPF programs have, as ticks. Both clocks are
 * read together again and again; a time between two readings lies on the straight line between
 * them.
 */
#ifndef DT_SESSION_KERNEL_CLOCK_H
#define DT_SESSION_KERNEL_CLOCK_H

#include "core/types.h"

/* A reading of both clocks at the same moment. */
struct dt_kernel_reading {
	uint64_t ticks, ns;
};

#define DT_KERNEL_READINGS 256u

/* Zero-initialised: nothing has been read yet. */
struct dt_kernel_clock {
	struct dt_kernel_reading reading[DT_KERNEL_READINGS]; /* the latest; the others before it */
	uint64_t n;					      /* how many there have been */
	uint64_t error; /* ticks by which the latest reading may be wrong */
};

/* Reads both clocks, unless they have been read just now. */
void dt_kernel_clock_look(struct dt_kernel_clock *c);
/* Sees to it that the rate is known: waits until two readings are far enough from each other. */
void dt_kernel_clock_begin(struct dt_kernel_clock *c);
/* Returns the ticks at that time. There must have been a reading. */
uint64_t dt_kernel_clock_ticks(const struct dt_kernel_clock *c, uint64_t ns);

#endif
