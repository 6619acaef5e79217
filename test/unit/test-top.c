/* SPDX-License-Identifier: MIT */
/* cmd/top-table.c: which columns a window of any width has room for, and which are sorted by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd/top-table.c"

/* of the commands, which are in no library; nothing here calls them */
#pragma weak dt_cmd_confine
#pragma weak dt_cmd_fail
#pragma weak dt_cmd_plain
#pragma weak dt_cmd_shown
#pragma weak dt_fit_print
#pragma weak dt_object_begin
#pragma weak dt_object_bool
#pragma weak dt_object_end
#pragma weak dt_object_ns
#pragma weak dt_object_number
#pragma weak dt_object_text
#pragma weak dt_recording_signals
#pragma weak dt_table_time
#pragma weak dt_top_enter_screen
#pragma weak dt_top_leave_screen

#define MOST 300 /* columns of a window */

/* What is chosen fills the window as far as it goes, in the order of need, and is as wide as is
 * said; a bar comes last. */
static void widths(void **state)
{
	static const enum column need[] = {SELF, CALLS, TOTAL, WAIT, CPU, AVG, MAX};

	(void)state;
	for (int waits = 0; waits < 2; waits++)
		for (enum column sort = 0; sort < COLUMNS; sort++)
			for (unsigned width = 1; width < MOST; width++) {
				struct table k = {.waits = waits, .sort = sort};
				bool chosen[COLUMNS], bar;
				unsigned used = choose(&k, width, chosen, &bar);
				/* a blank, and the one that is sorted by, in any case */
				unsigned sum = 1;
				bool has[COLUMNS] = {false};

				if (sort != NAME && (waits || (sort != CPU && sort != WAIT))) {
					has[sort] = true;
					sum += 12;
				}
				for (unsigned i = 0; i < sizeof(need) / sizeof(*need); i++) {
					enum column c = need[i];

					if (has[c] || (!waits && (c == CPU || c == WAIT)) ||
					    sum + 12 + 14 > width)
						continue;
					has[c] = true;
					sum += 12;
				}
				for (enum column c = 0; c < NAME; c++)
					assert_int_equal(chosen[c], has[c]);
				assert_int_equal(bar, sum + 17 + 14 <= width);
				assert_int_equal(used, sum + (bar ? 17 : 0));
			}
}

/* The arrows go through all columns that there are, and round. */
static void sorts(void **state)
{
	static const enum column all[] = {TOTAL, SELF, CPU, WAIT, CALLS, AVG, MAX, NAME},
				 some[] = {TOTAL, SELF, CALLS, AVG, MAX, NAME};

	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		const enum column *is = waits ? all : some;
		unsigned n = waits ? 8 : 6;
		struct table k = {.waits = waits, .sort = TOTAL};

		for (unsigned i = 1; i <= 2 * n; i++) {
			move_sort(&k, 1);
			assert_int_equal(k.sort, is[i % n]);
		}
		for (unsigned i = 2 * n; i-- > 0;) {
			move_sort(&k, -1);
			assert_int_equal(k.sort, is[i % n]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(widths), cmocka_unit_test(sorts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
