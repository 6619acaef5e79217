/* SPDX-License-Identifier: MIT */
/* view/families.c: which processes are drawn first, whatever order they come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "view/families.c"

/* In the order that is wanted. */
static const struct rank ranks[] = {
	{7, true, false, 5},  {2, true, false, 3},   {9, true, false, 3},
	{1, true, true, 100}, {4, false, false, 8},  {3, false, false, 0},
	{5, false, false, 0}, {6, false, true, 900}, {8, false, true, 1},
};

#define RANKS (sizeof(ranks) / sizeof(*ranks))

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void test_each_two(void **state)
{
	for (size_t i = 0; i < RANKS; i++)
		for (size_t k = 0; k < RANKS; k++)
			assert_int_equal(sign(by_rank(&ranks[i], &ranks[k])),
					 sign((int)i - (int)k));
}

static void test_sorted(void **state)
{
	struct rank r[RANKS];

	for (size_t first = 0; first < RANKS; first++) {
		for (size_t i = 0; i < RANKS; i++)
			r[i] = ranks[(first + 4 * i) % RANKS];
		qsort(r, RANKS, sizeof(*r), by_rank);
		for (size_t i = 0; i < RANKS; i++)
			assert_int_equal(r[i].group, ranks[i].group);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_two),
		cmocka_unit_test(test_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
