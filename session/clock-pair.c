/* SPDX-License-Identifier: MIT */
#include "session/clock-pair.h"

#include "arch/arch.h"

#define TRIES 8 /* all together they take less than a microsecond */

uint64_t dt_clock_pair(clockid_t clock, uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = ~0ull;
	struct timespec t;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = dt_ticks(), took;

		clock_gettime(clock, &t);
		took = dt_ticks() - before;
		if (took >= best)
			continue;
		best = took;
		*ticks = before + took / 2;
		*ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	}
	return best / 2;
}
