/* SPDX-License-Identifier: MIT */
/*
 * analyse/pair-losses.c: losses of several sources, noted in any order and more than once, some of
 * which have no end yet; what is asked of them is computed once more from a plain list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyse/pair-work.h"

#define CORES 3
#define MOST  60
#define TICKS 200 /* times are so few that all are asked about */

static struct {
	uint64_t begin, end;
} loss[CORES][MOST];
static unsigned n[CORES];
static uint64_t seed = 1;

static unsigned any(unsigned most)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % most;
}

/* Notes a loss; end 0: it goes on. Of two that begin at once the longer one counts, but what was
 * not known to end has ended as the other one says. */
static void note(struct dt_pair *p, unsigned core, uint64_t begin, uint64_t end)
{
	unsigned i = 0;

	assert_int_equal(dt_losses_add(p, core, begin, end), 0);
	while (i < n[core] && loss[core][i].begin != begin)
		i++;
	if (i == n[core]) {
		loss[core][n[core]++].begin = begin;
		loss[core][i].end = end;
	} else if (end > loss[core][i].end || !loss[core][i].end) {
		loss[core][i].end = end;
	}
}

static bool is_between(unsigned core, uint64_t begin, uint64_t end)
{
	for (unsigned i = 0; i < n[core]; i++)
		if (loss[core][i].begin < end && (!loss[core][i].end || loss[core][i].end > begin))
			return true;
	return false;
}

static bool begins(unsigned core, uint64_t since, uint64_t now)
{
	for (unsigned i = 0; i < n[core]; i++)
		if (loss[core][i].begin >= since && loss[core][i].begin < now)
			return true;
	return false;
}

static uint64_t next(unsigned core, uint64_t time)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < n[core]; i++) {
		uint64_t begin = loss[core][i].begin;

		if (begin < time && (!loss[core][i].end || loss[core][i].end > time))
			return time;
		if (begin >= time && begin < first)
			first = begin;
	}
	return first;
}

static void compare(const struct dt_pair *p)
{
	for (uint64_t from = 0; from < TICKS; from += 1 + any(9))
		for (uint64_t to = from; to < TICKS; to += 1 + any(9)) {
			bool is = false;

			for (uint16_t core = 0; core < CORES; core++) {
				assert_int_equal(dt_losses_between(p, core, from, to),
						 is_between(core, from, to));
				assert_int_equal(dt_losses_since(p, core, from, to, true),
						 is_between(core, from, to));
				assert_int_equal(dt_losses_since(p, core, from, to, false),
						 begins(core, from, to));
				assert_int_equal(dt_losses_next(p, core, from), next(core, from));
				is = is || is_between(core, from, to);
			}
			assert_int_equal(dt_pair_was_lost(p, from, to), is);
		}
}

static void test_losses(void **state)
{
	for (unsigned round = 0; round < 300; round++) {
		struct dt_pair p = {.reader = NULL};
		unsigned adds = any(MOST);

		for (unsigned core = 0; core < CORES; core++)
			n[core] = 0;
		compare(&p);
		for (unsigned i = 0; i < adds; i++) {
			unsigned core = any(CORES - 1), begin = 1 + any(TICKS);
			unsigned again = n[core] && any(3) == 0 ? any(n[core]) : MOST;

			/* seldom without an end, which may be told later */
			if (again < MOST)
				begin = (unsigned)loss[core][again].begin;
			note(&p, core, begin, any(8) ? begin + 1 + any(any(4) ? 10 : TICKS) : 0);
			if (any(4) == 0)
				compare(&p);
		}
		compare(&p);
		for (unsigned core = 0; core < CORES; core++)
			if (p.loss[core])
				free(p.loss[core]->i);
		for (unsigned core = 0; core < CORES; core++)
			free(p.loss[core]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
