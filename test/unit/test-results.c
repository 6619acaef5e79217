/* SPDX-License-Identifier: MIT */
/* session/results.c: what is missing from a trace, in words, for one and for several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "session/results.h"

static char text[8192];

static void take(void *ctx, const char *line)
{
	(void)ctx;
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n", line);
}

static void check(const struct dt_results *r, const struct dt_options *o, const char *is)
{
	text[0] = '\0';
	dt_results_say(r, o, &(struct dt_say){take, NULL});
	assert_string_equal(text, is);
}

#define SAID(is, ...) check(&(struct dt_results){__VA_ARGS__}, &options, is)
#define BEGINS(is, ...)                                                                            \
	do {                                                                                       \
		text[0] = '\0';                                                                    \
		dt_results_say(&(struct dt_results){__VA_ARGS__}, &options,                        \
			       &(struct dt_say){take, NULL});                                      \
		if (strncmp(text, is, strlen(is)) != 0)                                            \
			fail_msg("%s", text);                                                      \
	} while (0)

static struct dt_options options = {.output = "t.db"};

static void test_records(void **state)
{
	SAID("", .taken = 50000);
	SAID("1000 records, 7 lost: larger rings (-b) lose fewer, -p wait none\n", .taken = 1000,
	     .lost = 7, .left_as_it_was = true);
	SAID("nothing was recorded; t.db is the trace that it was\n", .left_as_it_was = true);
	SAID("a note\n", .note = "a note");
	options.kernel = true;
	SAID("9 records, 1 lost: larger rings (-b) lose fewer, -p wait none of the processes'; the "
	     "kernel does not wait\n",
	     .taken = 9, .lost = 1);
	options.kernel = false;
	SAID("", .taken = 9999, .shared = 9999);
	SAID("", .taken = 2000000, .shared = 19999);
	BEGINS("20000 of 2000000 records took some 0.4 us each", .taken = 2000000, .shared = 20000);
	BEGINS("10000 of 10000 records took some 0.4 us each, ten times what others do, since the "
	       "kernel keeps no rseq for the threads that made them: of 7 (doc",
	       .taken = 10000, .shared = 10000, .slow = "of 7");
	BEGINS("a traced program has written into the memory of the rings", .broken = "1",
	       .cores = 2);
}

static void test_processes(void **state)
{
	SAID("1 program that processes executed is not recorded, of process 9: no\n",
	     .unfollowed = 1, .unfollowed_pid = 9, .unfollowed_why = {"no"});
	SAID("2 programs that processes executed are not recorded; the first, of process 9: no\n",
	     .unfollowed = 2, .unfollowed_pid = 9, .unfollowed_why = {"no"});
	SAID("", .users = 1, .user = {5});
	BEGINS("processes changed their user while they were traced (5, 6): ", .users = 2,
	       .user = {5, 6});
	BEGINS("processes changed their user while they were traced (5, 6, ...): ", .users = 3,
	       .user = {5, 6, 7});
	BEGINS("1 calls are not recorded: ", .clockless = 1);
	BEGINS("2 threads of other PID namespaces ended before", .unknown_tids = 2);
	BEGINS("3 threads or processes began unseen", .births_missed = 3);
	BEGINS("4 lines of files that name code", .jit_unread = 4);
	BEGINS("of 5 processes only the calls", .unopened = 5);
	BEGINS("what a process did that had confined itself by seccomp was not followed 6 times",
	       .unsent = 6);
	BEGINS("process 8 executed a program: of what", .executed = 1, .executed_pid = 8);
	BEGINS("process 8 executed /bin/x, the first of several: of what", .executed = 2,
	       .executed_pid = 8, .executed_path = "/bin/x");
	options.points = 1;
	SAID("", .executed = 1, .executed_pid = 8);
	options.points = 0;
}

static void test_stacks(void **state)
{
	SAID("", .stackless = 3, .stack_functions = 1);
	options.backtrace = "failed";
	BEGINS("--backtrace: no function that was recorded is meant by 'failed'", .taken = 1);
	SAID("no call was what --backtrace says: 'failed'\n", .stack_functions = 1);
	SAID("", .stack_functions = 1, .stacks = 2);
	BEGINS("3 of 5 calls that --backtrace means have no stack", .stack_functions = 1,
	       .stacks = 2, .stackless = 3);
	options.backtrace = NULL;
}

static void test_budget(void **state)
{
	SAID("", .off_calls = 7);
	SAID("1 function was switched off for part of the time to keep to the budget, with some 7 "
	     "calls: devtrace report --budget t.db\n",
	     .off_functions = 1, .off_calls = 7);
	SAID("2 functions were switched off for part of the time to keep to the budget, with some 7 "
	     "calls, most of them of f: devtrace report --budget t.db\n",
	     .off_functions = 2, .off_calls = 7, .off_most = "f");
	BEGINS("--budget: in the end all functions were off", .off_functions = 2, .off_all = true);
	BEGINS("--budget: functions that --until, --signal or --snapshot wait for are never off; "
	       "recording these alone took 12.3 % of",
	       .kept_share = 0.1235);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
