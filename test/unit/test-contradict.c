/* SPDX-License-Identifier: MIT */
/*
 * align/contradict.c: what is left when a contradiction has been narrowed down is one, and is none
 * any more without any one of its ends. Evidence by chance, of clocks of which some step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "align/contradict.c"

#define CLOCKS 4
#define MOST   80
#define SPAN   ((int64_t)1 << 40)

static uint64_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static struct dt_align_clock clock[CLOCKS];
static struct dt_evidence evidence[MOST];
static bool believed[MOST], use[MOST];
static struct dt_case made;

/* What a clock shows at a true time: it is ahead by a number, and by another one once it has
 * stepped. */
static int64_t shows(const int64_t *ahead, const int64_t *step, const int64_t *at, uint32_t i,
		     int64_t t)
{
	return t + ahead[i] + (t >= at[i] ? step[i] : 0);
}

static void make(void)
{
	int64_t ahead[CLOCKS], step[CLOCKS], at[CLOCKS];
	uint32_t n = 2 + any(CLOCKS - 1);

	made = (struct dt_case){.clock = clock,
				.evidence = evidence,
				.clocks = n,
				.reference = any(n),
				.n = 10 + any(MOST - 10),
				.rate = DT_ALIGN_RATE,
				.believed = believed,
				.use = use};
	for (uint32_t i = 0; i < n; i++) {
		ahead[i] = (int64_t)any(1u << 30);
		step[i] = i != made.reference && any(2) ? ((int64_t)any(1u << 30) - (1 << 29)) * 256
							: 0;
		at[i] = SPAN / 4 + (int64_t)any(1u << 20) * (SPAN / 2 >> 20);
		clock[i] = (struct dt_align_clock){shows(ahead, step, at, i, 0),
						   shows(ahead, step, at, i, SPAN), ahead[i]};
		if (clock[i].end <= clock[i].begin)
			clock[i].end = clock[i].begin + SPAN;
	}
	for (uint32_t i = 0; i < made.n; i++) {
		uint32_t a = any(n), b = (a + 1 + any(n - 1)) % n;
		int64_t t = (int64_t)any(1u << 20) * (SPAN >> 20);

		evidence[i] =
			(struct dt_evidence){.a = a,
					     .b = b,
					     .xa = shows(ahead, step, at, a, t),
					     .xb = shows(ahead, step, at, b, t + 1 + any(1000)),
					     .item = i,
					     .kind = DT_EVIDENCE_MESSAGE};
		believed[i] = use[i] = true;
	}
}

static void test_narrow(void **state)
{
	unsigned narrowed = 0, ends = 0;

	for (uint64_t k = 1; k < 400; k++) {
		int64_t from[CLOCKS], to[CLOCKS];
		struct core core = {NULL};
		struct dt_net *g;
		uint32_t at;
		bool possible;

		seed = k;
		make();
		g = dt_net_new(clock, made.clocks, made.reference, evidence, made.n, use, NULL, 0,
			       made.rate);
		assert_non_null(g);
		possible = dt_net_possible(g, &at);
		dt_net_free(g);
		if (possible)
			continue;
		narrowed++;
		for (uint32_t i = 0; i < made.clocks; i++)
			leave_whole(&from[i], &to[i]);
		assert_int_equal(find_core(&made, use, &core, from, to), 0);
		assert_false(dt_net_possible(core.net, &at));
		for (uint32_t i = 0; i < made.clocks; i++) {
			uint32_t first = core.first[i], last = core.last[i];

			if (i == made.reference)
				continue;
			assert_true(from[i] == core.net->x[first] && to[i] == core.net->x[last]);
			if (first == last)
				continue;
			ends++;
			only(&core, i, first + 1, last);
			assert_true(dt_net_possible(core.net, &at));
			only(&core, i, first, last - 1);
			assert_true(dt_net_possible(core.net, &at));
			only(&core, i, first, last);
			assert_false(dt_net_possible(core.net, &at));
		}
		free_core(&core);
	}
	assert_true(narrowed > 100 && ends > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
