/* SPDX-License-Identifier: MIT */
/* Computes the difference between two clocks from an exchange of messages as in NTP (RFC 5905,
 * section 8). */
#ifndef DT_CORE_OFFSET_H
#define DT_CORE_OFFSET_H

#include "core/types.h"

/*
 * Returns how far the other clock is ahead of ours, in ticks: we asked at our t0, the other side
 * got that at its t1 and answered at its t2, and we had the answer at our t3. Half ticks are cut
 * off towards 0. The result is off by at most dt_offset_error(): half of the time that the two
 * messages together were on their way.
 */
int64_t dt_offset(uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3);
uint64_t dt_offset_error(uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3);

#endif
