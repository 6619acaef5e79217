/* SPDX-License-Identifier: MIT */
/* The times in which context switches are missing, against a map with a byte for each tick. */
#include "store/lost-switches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TICKS 500u

static uint8_t missing[TICKS];

static uint64_t count(uint64_t begin, uint64_t end)
{
	uint64_t n = 0;

	for (uint64_t i = begin; i < end; i++)
		n += missing[i];
	return n;
}

static void test_between(void **state)
{
	(void)state;
	srand(20261128);
	for (int round = 0; round < 200; round++) {
		struct dt_lost_switches l = {0};

		memset(missing, 0, sizeof(missing));
		for (int i = 0; i < 30; i++) {
			uint64_t begin = (uint64_t)rand() % (TICKS - 40) + 1,
				 end = begin + (uint64_t)rand() % 40;

			assert_int_equal(dt_lost_switches_add(&l, begin, end), 0);
			memset(missing + begin, 1, end - begin);
			for (int k = 0; k < i % 4;
			     k++) { /* asked now and then, as while a file grows */
				uint64_t from = (uint64_t)rand() % TICKS,
					 to = (uint64_t)rand() % TICKS;

				assert_int_equal(dt_lost_switches_between(&l, from, to),
						 from < to ? count(from, to) : 0);
			}
		}
		dt_lost_switches_free(&l);
	}
}

/* One without an end goes on until its end is known. */
static void test_rest(void **state)
{
	struct dt_lost_switches l = {0};

	(void)state;
	assert_int_equal(dt_lost_switches_add(&l, 100, 200), 0);
	assert_int_equal(dt_lost_switches_add(&l, 300, 0), 0);
	assert_int_equal(dt_lost_switches_between(&l, 150, 250), 50);
	assert_int_equal(dt_lost_switches_between(&l, 150, 350), 100);
	assert_int_equal(dt_lost_switches_between(&l, 320, 350), 30);
	assert_int_equal(dt_lost_switches_add(&l, 300, 310), 0);
	assert_int_equal(dt_lost_switches_between(&l, 150, 350), 60);
	assert_int_equal(dt_lost_switches_between(&l, 320, 350), 0);
	dt_lost_switches_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
