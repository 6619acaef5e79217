/* SPDX-License-Identifier: MIT */
/* Whose a thread's number is, told and met in any order. */
#include "session/lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "session/state.h"

static struct dt_session s;

static int begin(void **state)
{
	s = (struct dt_session){.ticks_per_ns = 1};
	return 0;
}

static int end(void **state)
{
	dt_lives_free(&s.lives);
	return 0;
}

/* The kernel's records of a new thread, which it makes before it tells of its birth. */
static void check_met_before_it_tells(void **state)
{
	dt_lives_seen(&s, 70, 1000);
	dt_lives_begin(&s, 70, 70, 1500, 900, true);
	assert_int_equal(dt_lives_now(&s, 70), 70);
	assert_int_equal(dt_lives_at(&s, 70, 1000), 70);
	assert_int_equal(dt_lives_at(&s, 70, 2000), 70);
	/* of a fork only the time is known since which the child is there */
	dt_lives_seen(&s, 71, 1000);
	dt_lives_begin(&s, 71, 71, 950, 0, true);
	assert_int_equal(dt_lives_now(&s, 71), 71);
}

static void check_another_with_the_number(void **state)
{
	uint32_t id;

	dt_lives_seen(&s, 72, 1000);
	dt_lives_begin(&s, 72, 72, 5000, 4000, true);
	id = dt_lives_now(&s, 72);
	assert_true(id >= DT_AGAIN);
	assert_int_equal(dt_lives_at(&s, 72, 1000), 72);
	assert_int_equal(dt_lives_at(&s, 72, 6000), id);
	/* and a third one */
	dt_lives_begin(&s, 72, 72, 9000, 8000, true);
	assert_true(dt_lives_now(&s, 72) > id);
	/* told again: nothing new */
	dt_lives_begin(&s, 72, 72, 9000, 8000, true);
	assert_int_equal(dt_lives_at(&s, 72, 6000), id);
	assert_int_equal(dt_lives_now(&s, 72), id + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(check_met_before_it_tells, begin, end),
		cmocka_unit_test_setup_teardown(check_another_with_the_number, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
