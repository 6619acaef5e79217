/* SPDX-License-Identifier: MIT */
/* Readings of the clocks, for the trace file. */
#include "session/clock.h"

#include <sys/timex.h>
#include <time.h>

#include "arch/arch.h"
#include "process/now.h"
#include "session/clock-pair.h"
#include "session/ping.h"

/* Returns by how many ns the time of day is ahead of CLOCK_MONOTONIC; the best of several readings,
 * since one can be interrupted. */
static uint64_t real_ahead(void)
{
	uint64_t best = ~0ull, ahead = 0;

	for (int i = 0; i < 8; i++) {
		uint64_t before = dt_now_ns(), real, took;
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		took = dt_now_ns() - before;
		real = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
		if (took >= best)
			continue;
		best = took;
		ahead = real - (before + took / 2);
	}
	return ahead;
}

struct dt_clocks dt_clocks_read(void)
{
	struct dt_clocks c;

	dt_clock_pair(CLOCK_MONOTONIC, &c.ticks, &c.mono);
	c.real = c.mono + real_ahead();
	return c;
}

void dt_clock_store(struct dt_session *s)
{
	struct dt_clocks c = dt_clocks_read();

	if (!dt_session_has_file(s))
		return;
	dt_store_clock(s->store, c.ticks, c.mono, c.real, NULL);
	dt_clock_store_realtime(s);
	dt_ping_store(s->ping, s->store);
	dt_ping_store(s->pong, s->store);
}

/*
 * adjtimex() gives the time, and the bound of its error that chrony or ntpd has told the kernel and
 * that grows since (RFC 5905, "clock discipline": maxerror). While nobody disciplines the clock,
 * there is no bound.
 */
void dt_clock_store_realtime(struct dt_session *s)
{
	struct timex t = {.modes = 0};
	struct dt_sync_row row = {.kind = "realtime", .id = "", .begin = dt_ticks(), .bound = -1};
	int state = adjtimex(&t);

	row.end = dt_ticks();
	if (state < 0)
		return;
	row.ns = t.time.tv_sec * 1000000000ll +
		 (t.status & STA_NANO ? t.time.tv_usec : 1000ll * t.time.tv_usec);
	if (state != TIME_ERROR && !(t.status & STA_UNSYNC))
		row.bound = 1000ll * t.maxerror;
	dt_store_sync(s->store, &row, NULL);
}
