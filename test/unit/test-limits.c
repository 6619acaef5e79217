/* SPDX-License-Identifier: MIT */
/* Limits under a kernel that obeys setrlimit(2) to the letter, with any hard limit, with and
 * without the privilege. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

static struct rlimit limit[RLIMIT_NLIMITS];
static bool privileged;

static int made_up_get(int what, struct rlimit *out)
{
	*out = limit[what];
	return 0;
}

static int made_up_set(int what, const struct rlimit *to)
{
	if (to->rlim_cur > to->rlim_max) {
		errno = EINVAL;
		return -1;
	}
	if (to->rlim_max > limit[what].rlim_max && !privileged) {
		errno = EPERM;
		return -1;
	}
	limit[what] = *to;
	return 0;
}

#define getrlimit(what, out) made_up_get(what, out)
#define setrlimit(what, to)  made_up_set(what, to)
#include "process/limits.c"

static const struct rlimit file_limits[] = {
	{50, 50},
	{1024, 4096},
	{1024, 65535},
	{1024, 65536},
	{1024, 65537},
	{1024, 1048576},
	{65535, 65536},
	{65536, 65537},
	{65537, 65537},
	{65537, 1048576},
	{1048576, 1048576},
	{1024, RLIM_INFINITY},
	{RLIM_INFINITY, RLIM_INFINITY},
};

/* Raises ours where the limit of files is so; gives them back; each limit must be as it was. */
static void there_and_back(const struct rlimit *files)
{
	struct rlimit were[RLIMIT_NLIMITS], stack = {8192, 100000};

	for (int i = 0; i < RLIMIT_NLIMITS; i++)
		limit[i] = (struct rlimit){1000u + (unsigned)i, 2000u + (unsigned)i};
	limit[RLIMIT_STACK] = stack;
	limit[RLIMIT_NOFILE] = *files;
	memcpy(were, limit, sizeof(were));
	raised = 0;
	dt_limits_raise();
	for (size_t i = 0; i < LIMITS; i++) {
		const struct rlimit *now = &limit[ours[i]];

		assert_true(now->rlim_cur >= were[ours[i]].rlim_cur);
		assert_true(now->rlim_max >= were[ours[i]].rlim_max);
		if (ours[i] != RLIMIT_NOFILE)
			assert_true(now->rlim_cur ==
				    (privileged ? RLIM_INFINITY : were[ours[i]].rlim_max));
	}
	/* as many as are enough, as far as we may; more only if there were more */
	if (files->rlim_cur >= FILES)
		assert_true(limit[RLIMIT_NOFILE].rlim_cur == files->rlim_cur);
	else if (privileged || files->rlim_max >= FILES)
		assert_true(limit[RLIMIT_NOFILE].rlim_cur == FILES);
	else
		assert_true(limit[RLIMIT_NOFILE].rlim_cur == files->rlim_max);
	dt_limits_restore();
	for (int i = 0; i < RLIMIT_NLIMITS; i++) {
		assert_true(limit[i].rlim_cur == were[i].rlim_cur);
		assert_true(limit[i].rlim_max == were[i].rlim_max);
	}
}

static void test_there_and_back(void **state)
{
	for (int who = 0; who < 2; who++) {
		privileged = who;
		for (size_t i = 0; i < sizeof(file_limits) / sizeof(*file_limits); i++)
			there_and_back(&file_limits[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
