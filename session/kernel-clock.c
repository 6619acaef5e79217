/* SPDX-License-Identifier: MIT */
#include "session/kernel-clock.h"

#include "process/now.h"
#include "session/clock-pair.h"

/* so far apart readings are: time enough to know the rate by two of them, and so short that what
 * NTP does to the clock meanwhile is little */
#define APART 20000000u
/* the first two, which are waited for */
#define APART_FIRST 2000000u

/* Returns the i-th reading; the latest ones are there. */
static const struct dt_kernel_reading *nth(const struct dt_kernel_clock *c, uint64_t i)
{
	return &c->reading[i % DT_KERNEL_READINGS];
}

static void look(struct dt_kernel_clock *c, uint64_t apart)
{
	struct dt_kernel_reading r;
	uint64_t error;

	if (c->n && dt_now_ns() - nth(c, c->n - 1)->ns < apart)
		return;
	error = dt_clock_pair(CLOCK_MONOTONIC, &r.ticks, &r.ns);
	if (c->n && (r.ns <= nth(c, c->n - 1)->ns || r.ticks <= nth(c, c->n - 1)->ticks))
		return;
	c->error = error;
	c->reading[c->n++ % DT_KERNEL_READINGS] = r;
}

void dt_kernel_clock_look(struct dt_kernel_clock *c)
{
	look(c, APART);
}

void dt_kernel_clock_begin(struct dt_kernel_clock *c)
{
	while (c->n < 2)
		look(c, APART_FIRST);
}

uint64_t dt_kernel_clock_ticks(const struct dt_kernel_clock *c, uint64_t ns)
{
	uint64_t last = c->n - 1,
		 oldest = c->n > DT_KERNEL_READINGS ? c->n - DT_KERNEL_READINGS : 0;
	const struct dt_kernel_reading *a, *b;
	double rate;

	/* the segment that it is in; beyond the ends, the first or last one is made longer */
	while (last > oldest + 1 && nth(c, last - 1)->ns > ns)
		last--;
	if (last == oldest)
		return nth(c, last)->ticks; /* one reading: no rate is known yet */
	a = nth(c, last - 1);
	b = nth(c, last);
	rate = (double)(b->ticks - a->ticks) / (double)(b->ns - a->ns);
	return b->ticks + (uint64_t)(int64_t)((double)(int64_t)(ns - b->ns) * rate);
}
