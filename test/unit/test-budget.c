/* SPDX-License-Identifier: MIT */
/* Which functions a budget switches off, and when they come back: a program is made up here, so its
 * own time and its calls are known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "session/budget.h"

#define SECOND 1000000000ull

/* Calls in a ns of the program's own time, of each function: they cost 60 ns each here. */
struct program {
	double rate[4];
	struct dt_budget_function function[4];
	struct dt_budget budget;
	uint64_t now;
	double hook;	   /* what a record takes of its processor time in truth, ns */
	double spent, own; /* ns, in all */
	unsigned switched; /* how often any function was */
};

static void begin(struct program *p, double share)
{
	*p = (struct program){.rate = {0.01, 0.001, 0.0001, 0.00001}, .hook = 20, .now = SECOND};
	p->budget = (struct dt_budget){
		.share = share, .hook_ns = 20, .taking_ns = 10, .function = p->function, .n = 4};
}

/* Lets the program run. */
static void run(struct program *p, double seconds)
{
	uint64_t until = p->now + (uint64_t)(seconds * 1e9), step = DT_BUDGET_TURN;

	while (p->now < until) {
		double hooks = 0, own;
		bool looked;

		for (unsigned i = 0; i < 4; i++)
			hooks += p->function[i].off ? 0 : p->rate[i] * 2 * p->hook;
		own = (double)step / (1 + hooks);
		for (unsigned i = 0; i < 4; i++) {
			if (p->function[i].off)
				continue;
			p->function[i].calls = (uint64_t)(p->rate[i] * own);
			p->function[i].records = 2 * p->function[i].calls;
			p->spent += (double)p->function[i].records * 30;
		}
		p->own += own;
		p->now += step;
		step = dt_budget_look(&p->budget, p->now, step, &looked);
		assert_true(looked);
		for (unsigned i = 0; i < 4; i++)
			p->switched += p->function[i].changed;
	}
}

static void test_what_fits_stays(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 1);
	run(&p, 10);
	assert_int_equal(p.switched, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_false(p.function[i].off);
}

static void test_the_hottest_goes_at_once(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 0.08); /* 60 % is the first one's, 6 % the second one's */
	run(&p, 0.1);
	assert_true(p.function[0].off);
	assert_false(p.function[1].off);
	assert_false(p.function[3].off);
}

static void test_it_keeps_to_the_budget(void **state)
{
	static const double share[] = {0.2, 0.05, 0.02, 0.001};
	struct program p;

	(void)state;
	for (unsigned i = 0; i < sizeof(share) / sizeof(*share); i++) {
		begin(&p, share[i]);
		run(&p, 2);
		p.spent = p.own = 0;
		p.switched = 0;
		run(&p, 300);
		assert_true(p.spent <= 1.1 * share[i] * p.own);
		/* trials are rare: it does not flap */
		assert_true(p.switched < 300);
	}
}

static void test_it_comes_back(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 0.05);
	run(&p, 10);
	assert_true(p.function[0].off);
	p.rate[0] = 0;
	run(&p, 70);
	for (unsigned i = 1; i < 4; i++)
		p.rate[i] /= 10;
	run(&p, 70);
	for (unsigned i = 0; i < 4; i++)
		assert_false(p.function[i].off);
}

static void test_waits_double(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 0.05);
	run(&p, 600);
	assert_true(p.function[0].off);
	assert_true(p.function[0].wait == DT_BUDGET_LONG);
	assert_true(p.function[3].wait == 0);
}

static void test_what_is_missed(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 0.001);
	run(&p, 0.1);
	assert_true(p.function[0].off);
	p.own = 0;
	run(&p, 0.5);
	assert_in_range(dt_budget_missed(p.function[0].rate, -1, p.function[0].off_time),
			(uint64_t)(0.0099 * p.own), (uint64_t)(0.0101 * p.own));
	assert_int_equal(dt_budget_missed(0.5, -1, 1000), 500);
	assert_int_equal(dt_budget_missed(0.5, 0, 1000), 250);
	assert_int_equal(dt_budget_missed(0.5, 0.7, 1000), 600);
}

/* Records that cost more than was thought: what stays on tells how much of the time was the
 * program's own. */
static void test_what_stays_on_puts_it_right(void **state)
{
	static const double hook[] = {20, 40, 55, 12};

	(void)state;
	for (unsigned i = 0; i < sizeof(hook) / sizeof(*hook); i++) {
		struct program p;

		begin(&p, 0.12);
		p.hook = hook[i];
		run(&p, 0.2);
		assert_true(p.function[0].off && !p.function[1].off);
		assert_true(p.function[0].rate > 0.009 && p.function[0].rate < 0.011);
	}
}

/* But not if the program does something else then, and is not seen to do what it did. */
static void test_another_program_puts_nothing_right(void **state)
{
	static const double times[] = {0, 0.01, 100};

	(void)state;
	for (unsigned i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct program p;

		begin(&p, 0.02);
		run(&p, 0.1);
		assert_true(p.function[0].off && p.function[1].off);
		p.rate[2] *= times[i];
		p.rate[3] *= times[i];
		run(&p, 0.1);
		assert_true(p.function[0].rate > 0.005 && p.function[0].rate < 0.02);
	}
}

/* What must not be off stays on, or comes back at once, whatever it costs; what it takes is told.
 */
static void test_what_is_kept(void **state)
{
	struct program p;
	bool looked;

	(void)state;
	begin(&p, 0.05);
	p.function[0].kept = true;
	run(&p, 20);
	assert_false(p.function[0].off);
	assert_true(p.function[1].off);
	assert_true(p.budget.kept_spent > 0.55 * p.budget.kept_own);
	assert_true(p.budget.kept_spent < 0.65 * p.budget.kept_own);
	p.function[1].kept = true;
	dt_budget_look(&p.budget, p.now, 1000, &looked);
	assert_false(looked);
	assert_true(p.function[1].changed && !p.function[1].off);
	p.function[0].kept = p.function[1].kept = false;
	run(&p, 0.3);
	assert_true(p.function[0].off);
	p.function[0].kept = true;
	run(&p, 0.1);
	assert_false(p.function[0].off);
}

/* Records made while functions were switched are paid for by later trials; nothing goes off. */
static void test_what_came_between(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 0.08);
	run(&p, 0.1);
	assert_true(p.function[0].off && !p.function[1].off);
	p.budget.between = 1000000;
	run(&p, 0.1);
	assert_false(p.function[1].off || p.function[2].off || p.function[3].off);
	assert_true(p.budget.left < 0);
}

static void test_too_little_time(void **state)
{
	struct program p;
	bool looked;

	(void)state;
	begin(&p, 0.05);
	p.function[0].calls = p.function[0].records = 1000000;
	dt_budget_look(&p.budget, p.now, 1000, &looked);
	assert_false(looked);
	assert_false(p.function[0].off);
	assert_int_equal(p.function[0].calls, 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits_stays),
		cmocka_unit_test(test_the_hottest_goes_at_once),
		cmocka_unit_test(test_it_keeps_to_the_budget),
		cmocka_unit_test(test_it_comes_back),
		cmocka_unit_test(test_waits_double),
		cmocka_unit_test(test_what_is_missed),
		cmocka_unit_test(test_what_stays_on_puts_it_right),
		cmocka_unit_test(test_another_program_puts_nothing_right),
		cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_what_came_between),
		cmocka_unit_test(test_too_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
