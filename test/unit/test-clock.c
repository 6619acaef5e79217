/* SPDX-License-Identifier: MIT */
/* Readings of the clocks while other programs want the cores, too. */
#include "session/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(check_readings_under_load, spin, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
