/* SPDX-License-Identifier: MIT */
/* core/kitrace.c: the vectors of Kitrace's figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/kitrace.h"

static int64_t at(int h, int m, int s, int us)
{
	return ((h * 60 + m) * 60ll + s) * 1000000 + us;
}

/* One line of a record without values. */
static void expect(struct dt_kitrace *k, int64_t us, unsigned flags, const char *want)
{
	struct dt_record r = {.kind = DT_ENTRY, .flags = (uint8_t)flags, .tid = 7705};
	char line[DT_KITRACE_LINE + 16];
	struct dt_kitrace_event v = {.record = &r, .place = "_sync", .us = us, .pid = true};

	line[dt_kitrace_line(k, line, &v)] = '\0';
	assert_string_equal(line, want);
}

static void test_neighbours(void **state)
{
	struct dt_kitrace k = {0};

	expect(&k, at(10, 31, 36, 565348), 0, "_sync 10:31:36.565348 () pid 7705\n");
	expect(&k, at(10, 31, 49, 423993), 0, "_sync 10:31:49.423993 (12.858645) pid 7705\n");
	expect(&k, at(10, 32, 10, 157718), 0, "_sync 10:32:10.157718 (20.733725) pid 7705\n");
}

static void test_base(void **state)
{
	struct dt_kitrace k = {0};

	expect(&k, at(10, 34, 55, 254005), DT_BASE, "_sync 10:34:55.254005 () BASE pid 7705\n");
	expect(&k, at(10, 34, 55, 301865), 0, "_sync 10:34:55.301865 (0.047860) pid 7705\n");
	expect(&k, at(10, 34, 57, 511464), 0, "_sync 10:34:57.511464 (2.257459) pid 7705\n");
	expect(&k, at(10, 35, 3, 663681), DT_BASE,
	       "_sync 10:35:03.663681 (8.409676) BASE pid 7705\n");
	expect(&k, at(10, 35, 4, 0), 0, "_sync 10:35:04.000000 (0.336319) pid 7705\n");
	/* the one that cancels it is counted from it, then neighbours are */
	expect(&k, at(10, 35, 5, 0), DT_ADJACENT, "_sync 10:35:05.000000 (1.336319) pid 7705\n");
	expect(&k, at(10, 35, 5, 7), 0, "_sync 10:35:05.000007 (0.000007) pid 7705\n");
}

static void test_flags(void **state)
{
	struct dt_kitrace k = {0};

	expect(&k, 0, DT_FREEZE | DT_UNFREEZE | DT_BASE | DT_LATEFREEZE,
	       "_sync 00:00:00.000000 () FREEZE LATEFREEZE UNFREEZE BASE pid 7705\n");
	expect(&k, -1, 0, "_sync 23:59:59.999999 (-0.000001) pid 7705\n");
}

static void test_items(void **state)
{
	struct dt_record r = {.kind = DT_ENTRY, .flags = 2, .tid = 1, .value = {0x7be, 0, 9, 9}};
	struct dt_record more = {.kind = DT_MORE, .flags = 1, .value = {0x77}};
	struct dt_kitrace k = {0};
	struct dt_kitrace_event v = {.record = &r, .place = "add"};
	char line[DT_KITRACE_LINE + 16];

	line[dt_kitrace_line(&k, line, &v)] = '\0';
	assert_string_equal(line, "add 00:00:00.000000 () rdi=7be rsi=0\n");
	r.kind = DT_EXIT;
	r.flags = 1;
	v.place = "add+1c";
	line[dt_kitrace_line(&k, line, &v)] = '\0';
	assert_string_equal(line, "add+1c 00:00:00.000000 (0.000000) rax=7be\n");
	v.more = &more;
	line[dt_kitrace_line(&k, line, &v)] = '\0';
	assert_string_equal(line, "add+1c 00:00:00.000000 (0.000000) const 77\n");
	v.pid = true;
	r.tid = DT_NO_TID;
	line[dt_kitrace_line(&k, line, &v)] = '\0';
	assert_string_equal(line, "add+1c 00:00:00.000000 (0.000000) const 77 pid none\n");
}

static void test_dates(void **state)
{
	static const struct {
		int64_t day;
		const char *text;
	} date[] = {{0, "Jan  1 "},	{31, "Feb  1 "},    {59, "Mar  1 "}, {-1, "Dec 31 "},
		    {11016, "Feb 29 "}, {20777, "Nov 20 "}, {364, "Dec 31 "}};
	struct dt_record r = {.kind = DT_ENTRY};

	for (size_t i = 0; i < sizeof(date) / sizeof(*date); i++) {
		struct dt_kitrace k = {0};
		struct dt_kitrace_event v = {.record = &r,
					     .place = "f",
					     .date = true,
					     .us = date[i].day * 86400 * 1000000 + 1};
		char line[DT_KITRACE_LINE], want[64] = "f ";

		line[dt_kitrace_line(&k, line, &v)] = '\0';
		strcat(want, date[i].text);
		strcat(want, "00:00:00.000001 ()\n");
		assert_string_equal(line, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neighbours), cmocka_unit_test(test_base),
		cmocka_unit_test(test_flags),	   cmocka_unit_test(test_items),
		cmocka_unit_test(test_dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
