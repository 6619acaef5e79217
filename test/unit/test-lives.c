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

/* Numbers that stand for another life lead back to the thread's own, and others are their own. */
static void check_numbers(void **state)
{
	uint32_t id[3];

	dt_lives_begin(&s, 80, 80, 1000, 900, true);
	for (int i = 0; i < 3; i++) {
		uint64_t at = 5000 + 1000 * (uint64_t)i;

		dt_lives_begin(&s, 80 + (uint32_t)i, 80, at, at - 100, true);
		dt_lives_begin(&s, 80 + (uint32_t)i, 80, at + 500, at + 400, true);
		id[i] = dt_lives_now(&s, 80 + (uint32_t)i);
		assert_true(id[i] >= DT_AGAIN);
		assert_int_equal(dt_lives_number(&s, id[i]), 80 + i);
	}
	assert_int_equal(dt_lives_number(&s, 80), 80);
	assert_int_equal(dt_lives_number(&s, 0), 0);
	assert_int_equal(dt_lives_number(&s, DT_AGAIN - 1), DT_AGAIN - 1);
	/* one that nobody was given */
	assert_int_equal(dt_lives_number(&s, DT_AGAIN + (uint32_t)s.lives.again),
			 DT_AGAIN + (uint32_t)s.lives.again);
}

/* A process is found by its life, and not once it has ended. */
static void check_targets(void **state)
{
	struct dt_target third = {.id = 3}, second = {.id = 2, .ended = true, .next = &third},
			 first = {.id = 1, .next = &second};

	s.first = &first;
	assert_ptr_equal(dt_lives_target(&s, 1), &first);
	assert_null(dt_lives_target(&s, 2));
	assert_ptr_equal(dt_lives_target(&s, 3), &third);
	assert_null(dt_lives_target(&s, 4));
	s.first = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(check_met_before_it_tells, begin, end),
		cmocka_unit_test_setup_teardown(check_another_with_the_number, begin, end),
		cmocka_unit_test_setup_teardown(check_numbers, begin, end),
		cmocka_unit_test_setup_teardown(check_targets, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
