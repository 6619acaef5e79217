/* SPDX-License-Identifier: MIT */
/* Times of the kernel's clock as ticks. */
#include "session/kernel-clock.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void check_between_readings(void **state)
{
	/* 2 ticks a nanosecond, then 4, as if the clock had been slowed */
	struct dt_kernel_clock c = {.reading = {{1000, 100}, {1200, 200}, {1600, 300}}, .n = 3};

	assert_int_equal(dt_kernel_clock_ticks(&c, 100), 1000);
	assert_int_equal(dt_kernel_clock_ticks(&c, 150), 1100);
	assert_int_equal(dt_kernel_clock_ticks(&c, 200), 1200);
	assert_int_equal(dt_kernel_clock_ticks(&c, 250), 1400);
	assert_int_equal(dt_kernel_clock_ticks(&c, 300), 1600);
	/* beyond the ends */
	assert_int_equal(dt_kernel_clock_ticks(&c, 50), 900);
	assert_int_equal(dt_kernel_clock_ticks(&c, 350), 1800);
}

static void check_only_the_latest_are_kept(void **state)
{
	struct dt_kernel_clock c = {.n = 0};

	/* ever faster, so that each segment has a rate of its own */
	for (uint64_t i = 0, ticks = 0; i < 3 * DT_KERNEL_READINGS; ticks += 1000 * i++)
		c.reading[c.n++ % DT_KERNEL_READINGS] = (struct dt_kernel_reading){ticks, 1000 * i};
	for (uint64_t i = c.n - DT_KERNEL_READINGS; i < c.n - 1; i++)
		assert_int_equal(dt_kernel_clock_ticks(&c, 1000 * i + 500),
				 1000 * (i * (i - 1) / 2) + 500 * i);
}

static void check_the_machines_clocks(void **state)
{
	struct dt_kernel_clock c = {.n = 0};
	struct dt_kernel_reading now;

	for (int i = 0; i < 4; i++) {
		dt_kernel_clock_look(&c);
		dt_kernel_clock_look(&c); /* just now: it stays */
		nanosleep(&(struct timespec){.tv_nsec = APART + 1000000}, NULL);
	}
	assert_in_range(c.n, 4, 8); /* 4, if nothing came between */
	dt_clock_pair(CLOCK_MONOTONIC, &now.ticks, &now.ns);
	/* extrapolated over a time that nobody knows: within a thousandth of it, and a millisecond
	 */
	assert_in_range(dt_kernel_clock_ticks(&c, now.ns),
			now.ticks - (now.ticks - c.reading[0].ticks) / 1000 - 10000000,
			now.ticks + (now.ticks - c.reading[0].ticks) / 1000 + 10000000);
}

/* Records are taken before 20 ms are over: their times differ nevertheless. */
static void check_the_rate_from_the_beginning(void **state)
{
	struct dt_kernel_clock c = {.n = 0};
	uint64_t ns, first;

	dt_kernel_clock_begin(&c);
	assert_int_equal(c.n, 2);
	dt_kernel_clock_begin(&c);
	assert_int_equal(c.n, 2);
	ns = c.reading[1].ns;
	assert_true(ns - c.reading[0].ns >= APART_FIRST);
	first = dt_kernel_clock_ticks(&c, ns + 1000);
	assert_true(dt_kernel_clock_ticks(&c, ns + 2000) > first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_between_readings),
		cmocka_unit_test(check_only_the_latest_are_kept),
		cmocka_unit_test(check_the_machines_clocks),
		cmocka_unit_test(check_the_rate_from_the_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
