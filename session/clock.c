/* SPDX-License-Identifier: MIT */
/* Readings of the clocks, for the trace file. */
#include "session/clock.h"

#include <sys/timex.h>
#include <time.h>

#include "arch/arch.h"
#include "session/ping.h"

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
