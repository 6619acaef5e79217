/* SPDX-License-Identifier: MIT */
/* Readings of the clocks: which time of day a tick was. */
#ifndef DT_SESSION_CLOCK_H
#define DT_SESSION_CLOCK_H

#include "session/state.h"

struct dt_clocks {
	uint64_t ticks, mono, real; /* mono, real: ns */
};

struct dt_clocks dt_clocks_read(void);
/* One more reading for the file. */
void dt_clock_store(struct dt_session *s);

#endif
