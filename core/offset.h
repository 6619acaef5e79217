/* SPDX-License-Identifier: MIT */
/* The difference between two clocks, from an exchange of messages as in NTP (RFC 5905, section 8).
 */
#ifndef DT_CORE_OFFSET_H
#define DT_CORE_OFFSET_H

#include "core/types.h"

/*
 * How far the other clock is ahead of ours, in its ticks: asked at our t0, which the other one got
 * at its t1 and answered at its t2, and we had the answer at our t3. It is off by at most half of
 * what the two ways together took: dt_offset_error(). Half ticks are cut off towards 0.
 */
int64_t dt_offset(uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3);
uint64_t dt_offset_error(uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3);

#endif
