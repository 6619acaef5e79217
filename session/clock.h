/* SPDX-License-Identifier: MIT */
/* Readings of the clocks, which tell at what time of day a tick was. */
#ifndef DT_SESSION_CLOCK_H
#define DT_SESSION_CLOCK_H

#include "session/state.h"

/* One reading of all clocks at the same moment. */
struct dt_clocks {
	uint64_t ticks, mono, real; /* mono, real: ns of CLOCK_MONOTONIC and CLOCK_REALTIME */
};

/* Reads the clocks. */
struct dt_clocks dt_clocks_read(void);
/* Reads the clocks and stores the reading in the session's trace file, if it has one. With the
 * lock, or when there are no other threads. */
void dt_clock_store(struct dt_session *s);
/* Stores what the real time is, and how far it may be off, for bringing machines' clocks together.
 * The session has a file; with the lock, or when there are no other threads. */
void dt_clock_store_realtime(struct dt_session *s);

#endif
