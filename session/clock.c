/* SPDX-License-Identifier: MIT */
/* Readings of the clocks, for the trace file. */
#include "session/clock.h"

#include <time.h>

#include "arch/arch.h"

struct dt_clocks dt_clocks_read(void)
{
	struct timespec mono, real;
	uint64_t before = dt_ticks(), after;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &real);
	after = dt_ticks();
	return (struct dt_clocks){before + (after - before) / 2,
				  (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec,
				  (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec};
}

void dt_clock_store(struct dt_session *s)
{
	struct dt_clocks c = dt_clocks_read();

	if (dt_session_has_file(s))
		dt_store_clock(s->store, c.ticks, c.mono, c.real, NULL);
}
