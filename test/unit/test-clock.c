/* SPDX-License-Identifier: MIT */
/* Readings of the clocks while other programs want the cores, too; and what is stored of how exact
 * the time of day is. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/state.h"

static struct timex kernel_says;
static int kernel_state;
static struct dt_sync_row stored;
static unsigned stores;

static int say_time(struct timex *t)
{
	*t = kernel_says;
	return kernel_state;
}

static void store(const struct dt_sync_row *row)
{
	stored = *row;
	stores++;
}

#define adjtimex(t)		  say_time(t)
#define dt_store_sync(to, row, e) store(row)
#include "session/clock.c"

#define READINGS 200000
#define SPINNERS 8
#define OFF_NS	 20000 /* so far a reading may be off: a lost core is lost for milliseconds */

static pid_t spinner[SPINNERS];

static int spin(void **state)
{
	for (int i = 0; i < SPINNERS; i++) {
		spinner[i] = fork();
		if (spinner[i] < 0)
			return -1;
		if (spinner[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	return 0;
}

static int stop(void **state)
{
	for (int i = 0; i < SPINNERS; i++) {
		kill(spinner[i], SIGKILL);
		waitpid(spinner[i], NULL, 0);
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Each reading lies on the line through all, whose slope is the middle one of pieces, and so is the
 * time of day. */
static void check_readings_under_load(void **state)
{
	struct dt_clocks *c = calloc(READINGS, sizeof(*c));
	double slope[READINGS / 2], ahead, rate, worst = 0, worst_real = 0, off[READINGS];

	assert_non_null(c);
	for (int i = 0; i < READINGS; i++)
		c[i] = dt_clocks_read();
	for (int i = 0; i < READINGS / 2; i++)
		slope[i] = (double)(c[i + READINGS / 2].mono - c[i].mono) /
			   (double)(c[i + READINGS / 2].ticks - c[i].ticks);
	qsort(slope, READINGS / 2, sizeof(*slope), by_number);
	rate = slope[READINGS / 4];
	for (int i = 0; i < READINGS; i++)
		off[i] = (double)(c[i].mono - c[0].mono) - (double)(c[i].ticks - c[0].ticks) * rate;
	for (int i = 0; i < READINGS; i++)
		slope[i / 2] = off[i];
	qsort(slope, READINGS / 2, sizeof(*slope), by_number);
	ahead = (double)(c[0].real - c[0].mono);
	for (int i = 0; i < READINGS; i++) {
		double far = off[i] - slope[READINGS / 4],
		       real = (double)(c[i].real - c[i].mono) - ahead;

		far = far < 0 ? -far : far;
		real = real < 0 ? -real : real;
		worst = far > worst ? far : worst;
		worst_real = real > worst_real ? real : worst_real;
	}
	free(c);
	print_message("%d readings: ticks and monotonic at most %.0f ns off, real %.0f ns\n",
		      READINGS, worst, worst_real);
	assert_true(worst < OFF_NS);
	assert_true(worst_real < OFF_NS);
}

/* What the kernel says of its clock: the time in ns or us, and a bound only if somebody vouches. */
static void check_realtime(void **state)
{
	static const struct {
		int state, status;
		int64_t ns, bound;
	} is[] = {
		{TIME_OK, STA_NANO, 7000123456, 42000},
		{TIME_OK, 0, 7123456000, 42000},
		{TIME_INS, STA_NANO | STA_INS, 7000123456, 42000},
		{TIME_OK, STA_NANO | STA_UNSYNC, 7000123456, -1},
		{TIME_OK, STA_UNSYNC, 7123456000, -1},
		{TIME_ERROR, STA_NANO, 7000123456, -1},
		{TIME_ERROR, STA_NANO | STA_UNSYNC, 7000123456, -1},
	};
	static struct dt_session session;
	uint64_t before, after;

	for (unsigned i = 0; i < sizeof(is) / sizeof(*is); i++) {
		memset(&kernel_says, 0, sizeof(kernel_says));
		kernel_says.time = (struct timeval){7, 123456};
		kernel_says.maxerror = 42;
		kernel_says.status = is[i].status;
		kernel_state = is[i].state;
		stores = 0;
		before = dt_ticks();
		dt_clock_store_realtime(&session);
		after = dt_ticks();
		assert_int_equal(stores, 1);
		assert_string_equal(stored.kind, "realtime");
		assert_string_equal(stored.id, "");
		assert_int_equal(stored.ns, is[i].ns);
		assert_int_equal(stored.bound, is[i].bound);
		assert_true(before <= stored.begin && stored.begin <= stored.end &&
			    stored.end <= after);
	}
	kernel_state = -1;
	dt_clock_store_realtime(&session);
	assert_int_equal(stores, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_realtime),
		cmocka_unit_test_setup_teardown(check_readings_under_load, spin, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
