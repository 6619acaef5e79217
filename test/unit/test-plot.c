/* SPDX-License-Identifier: MIT */
/* analyse/stackify.c: the paper's example to the byte, and the duration filter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/stackify.h"

/* The two calls of the paper's figure 10, after filtering with min. */
static const char *example(uint64_t min)
{
	static char out[512];
	struct dt_stackify s = {.first = 183486620292904, .min = min, .separator = ' '};
	size_t n = 0;

	n += dt_stackify_call(&s, out + n, 183486620292904, 183486620300659, "rtcwalk");
	n += dt_stackify_call(&s, out + n, 183486620309268, 183486620313238, "rtcopen");
	out[n] = '\0';
	return out;
}

static void test_golden(void **state)
{
	assert_string_equal(example(0),
			    "3877.5 0 3877.5 3877.5 rtcwalk\n18349 1 1985 1985 rtcopen\n");
}

/* Less is dropped, equal is kept. */
static void test_filter(void **state)
{
	const char *both = "3877.5 0 3877.5 3877.5 rtcwalk\n18349 1 1985 1985 rtcopen\n";
	const char *walk = "3877.5 0 3877.5 3877.5 rtcwalk\n";

	assert_string_equal(example(3970), both);
	assert_string_equal(example(3971), walk);
	assert_string_equal(example(4000), walk);
	assert_string_equal(example(7755), walk);
	assert_string_equal(example(7756), "");
}

/* No bit is lost where a double would lose some; rows count what is kept. */
static void test_large(void **state)
{
	struct dt_stackify s = {.first = 1, .min = 2, .separator = '\t'};
	char out[256];

	assert_int_equal(dt_stackify_call(&s, out, 5, 6, "f"), 0);
	out[dt_stackify_call(&s, out, 4, (1ull << 62) + 1, "operator new")] = '\0';
	assert_string_equal(out, "2305843009213693953.5\t0\t2305843009213693950.5\t"
				 "2305843009213693950.5\toperator new\n");
	out[dt_stackify_call(&s, out, 10, 12, "g")] = '\0';
	assert_string_equal(out, "10\t1\t1\t1\tg\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
					   cmocka_unit_test(test_filter),
					   cmocka_unit_test(test_large)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
