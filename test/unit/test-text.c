/* SPDX-License-Identifier: MIT */
/* core/text.c: the 121-byte line to the byte, the long line, digits. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/text.h"

/* The records of the paper's figure 3. */
static const struct dt_record entry = {
	.ticks = 0x88297eecd2e7,
	.pc = 0xffffffff8011aa68,
	.tid = 0x23c,
	.kind = DT_ENTRY,
	.flags = 4,
	.core = 1,
	.sp = 0x1000,
	.value = {0x7be, 0xffffffff81accb78, 0xffffffff81a4d2a8, 0xffffffff0000000a}};
static const struct dt_record leave = {.ticks = 0x88297eecd445,
				       .pc = 0xffffffff8011aac7,
				       .tid = 0x23c,
				       .kind = DT_EXIT,
				       .flags = 1,
				       .sp = 0x1000,
				       .value = {0xffffffff801abc78, 0x1111, 0x2222, 0x3333}};

static const char entry_line[] =
	"E ffffffff8011aa68 000088297eecd2e7 000000000000023c 00000000000007be "
	"ffffffff81accb78 ffffffff81a4d2a8 ffffffff0000000a\n";
static const char exit_line[] =
	"X ffffffff8011aac7 000088297eecd445 000000000000023c ffffffff801abc78 "
	"0000000000000000 0000000000000000 0000000000000000\n";

static void test_golden_lines(void **state)
{
	char line[DT_LINE + 1] = "";

	assert_int_equal(sizeof(entry_line) - 1, 121);
	assert_int_equal(DT_LINE, 121);
	dt_text_line(line, &entry);
	assert_string_equal(line, entry_line);
	dt_text_line(line, &leave);
	assert_string_equal(line, exit_line);
	assert_int_equal(leave.ticks - entry.ticks, 350);
}

static void test_no_thread(void **state)
{
	struct dt_record r = entry;
	char line[DT_LINE + 1] = "";

	r.tid = DT_NO_TID;
	dt_text_line(line, &r);
	assert_memory_equal(line + 36, "ffffffffffffffff", 16);
}

static void test_parse(void **state)
{
	char line[DT_LINE + 1] = "";
	struct dt_record r;

	assert_true(dt_text_parse(entry_line, 121, &r));
	assert_int_equal(r.kind, 'E');
	assert_int_equal(r.pc, entry.pc);
	assert_int_equal(r.tid, entry.tid);
	assert_memory_equal(r.value, entry.value, sizeof(r.value));
	dt_text_line(line, &r);
	assert_string_equal(line, entry_line);

	assert_false(dt_text_parse(entry_line, 120, &r));
	for (size_t i = 0; i < 121; i++) {
		memcpy(line, entry_line, 121);
		line[i] = i == 0 ? '\n' : 'G';
		assert_false(dt_text_parse(line, 121, &r));
	}
}

static void test_long_line(void **state)
{
	char line[2 * DT_LONG_LINE];
	struct dt_record r = entry;

	line[dt_text_long(line, &r, "rtctime", 3)] = '\0';
	assert_string_equal(line, "kind=E ticks=149711804486375 core=1 tid=572 "
				  "pc=0xffffffff8011aa68 sp=0x1000 function=rtctime v0=0x7be "
				  "v1=0xffffffff81accb78\n");
	r.core = DT_SHARED_CORE;
	r.tid = DT_NO_TID;
	r.flags = DT_FREEZE | DT_BASE | 2;
	r.ticks = 0;
	line[dt_text_long(line, &r, "operator new(\"x\")", 0)] = '\0';
	assert_string_equal(line, "kind=E ticks=0 core=shared tid=none pc=0xffffffff8011aa68 "
				  "sp=0x1000 function=\"operator new(\\\"x\\\")\" "
				  "flags=FREEZE,BASE\n");
	line[dt_text_long(line, &r, NULL, 0)] = '\0';
	assert_null(strstr(line, "function"));
	/* the longest line fits */
	memset(&r, 0xff, sizeof(r));
	assert_true(dt_text_long(line, &r, NULL, 15) < DT_LONG_LINE);
}

static uint64_t power_of_ten(int n)
{
	return n ? 10 * power_of_ten(n - 1) : 1;
}

static void test_digits(void **state)
{
	uint64_t v = 88172645463325252u;

	for (int i = 0; i < 200000; i++) {
		char want[32], got[32];
		uint64_t x;

		v ^= v << 13;
		v ^= v >> 7;
		v ^= v << 17;
		x = v >> v % 64;
		if (i < 64)
			x = (uint64_t)1 << i;
		else if (i < 200)
			x = power_of_ten((i - 64) / 3 % 20) - 1 + (uint64_t)(i % 3);
		snprintf(want, sizeof(want), "%" PRIx64, x);
		got[dt_text_hex(got, x)] = '\0';
		assert_string_equal(got, want);
		snprintf(want, sizeof(want), "%" PRIu64, x);
		got[dt_text_decimal(got, x)] = '\0';
		assert_string_equal(got, want);
	}
	assert_int_equal(dt_text_hex((char[DT_DIGITS]){0}, 0), 1);
	assert_int_equal(dt_text_decimal((char[DT_DIGITS]){0}, UINT64_MAX), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_lines), cmocka_unit_test(test_no_thread),
		cmocka_unit_test(test_parse),	     cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
