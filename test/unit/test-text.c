/* SPDX-License-Identifier: MIT */
/* core/text.c, compact.c, kitrace.c: each line to the byte, and back. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "core/compact.h"
#include "core/kitrace.h"
#include "core/plain.h"
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

static void check_024_no_thread(void **state)
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

static uint64_t seed = 88172645463325252u;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A number of any magnitude. */
static uint64_t any_number(void)
{
	return random64() >> random64() % 64;
}

/* ---- the other fixed layouts ---- */

static const char entry_cpu[] = "E ffffffff8011aa68 000088297eecd2e7 0000023c    0001 "
				"00000000000007be ffffffff81accb78 ffffffff81a4d2a8 "
				"ffffffff0000000a\n";
static const char entry_32[] = "E 8011aa68 000088297eecd2e7 0000023c 000007be 81accb78 81a4d2a8\n";
static const char exit_32[] = "X 8011aac7 000088297eecd445 0000023c 801abc78 00000000 00000000\n";
static const char entry_32_cpu[] =
	"E 8011aa68 000088297eecd2e7 0000023c 0001 000007be 81accb78 81a4d2a8\n";

static const char *layout_line(enum dt_layout layout, const struct dt_record *r, bool *whole)
{
	static char line[DT_LINE + 1];

	memset(line, '~', sizeof(line));
	*whole = dt_layout_line(line, layout, r);
	assert_int_equal(line[dt_layout_size(layout)], '~');
	line[dt_layout_size(layout)] = '\0';
	return line;
}

/* D1: 121 bytes, not 128. D2: 64 bytes with three arguments, and V2's columns with right counts. */
static void check_081_layouts(void **state)
{
	struct dt_record small = {.ticks = 1, .pc = 0xf0004944, .tid = 7, .kind = 'E', .core = 3};
	bool whole;

	assert_int_equal(dt_layout_size(DT_LAYOUT_64), 121);
	assert_int_equal(dt_layout_size(DT_LAYOUT_64_CPU), 121);
	assert_int_equal(dt_layout_size(DT_LAYOUT_32), 64);
	assert_int_equal(dt_layout_size(DT_LAYOUT_32_CPU), 69);
	assert_string_equal(layout_line(DT_LAYOUT_64, &entry, &whole), entry_line);
	assert_true(whole);
	assert_string_equal(layout_line(DT_LAYOUT_64_CPU, &entry, &whole), entry_cpu);
	assert_true(whole);
	/* the arguments are in the columns of the line without */
	assert_string_equal(entry_cpu + 52, entry_line + 52);
	assert_string_equal(layout_line(DT_LAYOUT_32, &entry, &whole), entry_32);
	assert_false(whole); /* a 64-bit pc, and four arguments */
	assert_string_equal(layout_line(DT_LAYOUT_32, &leave, &whole), exit_32);
	assert_false(whole);
	assert_string_equal(layout_line(DT_LAYOUT_32_CPU, &entry, &whole), entry_32_cpu);
	layout_line(DT_LAYOUT_32, &small, &whole);
	assert_true(whole);
	small.value[2] = 1ull << 32;
	layout_line(DT_LAYOUT_32, &small, &whole);
	assert_false(whole);
	small.value[2] = 0;
	small.value[3] = 1;
	layout_line(DT_LAYOUT_32, &small, &whole);
	assert_false(whole);
	small.kind = 'X'; /* of an exit the first value is meant alone */
	layout_line(DT_LAYOUT_32, &small, &whole);
	assert_true(whole);
	small.tid = DT_NO_TID;
	small.core = DT_SHARED_CORE;
	assert_string_equal(layout_line(DT_LAYOUT_32_CPU, &small, &whole),
			    "X f0004944 0000000000000001 ffffffff ffff 00000000 00000000 "
			    "00000000\n");
}

/* Each layout gives back what it holds; and no line of one is taken for another's. */
static void test_layouts_back(void **state)
{
	for (int i = 0; i < 20000; i++) {
		enum dt_layout layout = (enum dt_layout)(i % 4);
		bool wide = layout < DT_LAYOUT_32, cpu = i & 1, whole;
		struct dt_record r = {.ticks = any_number(),
				      .pc = any_number(),
				      .tid = (uint32_t)any_number(),
				      .kind = (uint8_t) "EXPVSRMNc"[random64() % 9],
				      .core = (uint16_t)any_number()};
		struct dt_record back, want;
		char line[DT_LINE + 1];

		for (int j = 0; j < 4; j++)
			r.value[j] = any_number();
		strcpy(line, layout_line(layout, &r, &whole));
		for (int l = 0; l < 4; l++)
			assert_int_equal(
				dt_layout_parse(line, strlen(line), (enum dt_layout)l, &back),
				l == (int)layout);
		assert_true(dt_layout_parse(line, strlen(line), layout, &back));
		want = r;
		for (int j = 1; r.kind == 'X' && j < 4; j++)
			want.value[j] = 0;
		if (!cpu)
			want.core = 0;
		if (!wide) {
			want.pc = (uint32_t)want.pc;
			for (int j = 0; j < 4; j++)
				want.value[j] = j < 3 ? (uint32_t)want.value[j] : 0;
			assert_int_equal(
				whole, want.pc == r.pc && want.value[0] == r.value[0] &&
					       (r.kind == 'X' || !memcmp(want.value, r.value, 32)));
		}
		assert_memory_equal(&back, &want, sizeof(back));
		line[random64() % strlen(line)] = 'G';
		if (line[0] != 'G')
			assert_false(dt_layout_parse(line, strlen(line), layout, &back));
	}
}

static void test_kind_that_is_no_character(void **state)
{
	struct dt_record r = {.kind = '\n'};
	char line[DT_LINE + 1] = "";

	dt_text_line(line, &r);
	assert_int_equal(line[0], '?');
	assert_null(memchr(line, '\n', DT_LINE - 1));
}

/* ---- the long line, read back ---- */

static void test_long_back(void **state)
{
	for (int i = 0; i < 20000; i++) {
		struct dt_record r = {.ticks = any_number(),
				      .pc = any_number(),
				      .sp = any_number(),
				      .tid = random64() % 9 ? (uint32_t)any_number() : DT_NO_TID,
				      .kind = (uint8_t) "EXPVSRMNcQ"[random64() % 10],
				      .flags = (uint8_t)(random64() & 0x78),
				      .core = random64() % 9 ? (uint16_t)any_number()
							     : DT_SHARED_CORE};
		unsigned mask = random64() & 15;
		char line[2 * DT_LONG_LINE];
		struct dt_long l;
		size_t n;

		for (int j = 0; j < 4; j++)
			r.value[j] = mask >> j & 1 ? any_number() : 0;
		n = dt_text_long(line, &r, i % 2 ? "std::map<a, b = 1> \"x\"" : NULL, mask);
		assert_int_equal(dt_text_parse_long(line, n, &l), 1);
		assert_memory_equal(&l.record, &r, sizeof(r));
		assert_int_equal(l.mask, mask);
		assert_int_equal(!!l.function, i % 2);
		if (l.function)
			assert_memory_equal(l.function, "std::map<a, b = 1> \\\"x\\\"",
					    l.function_length);
		/* cut anywhere, it is none */
		assert_int_equal(dt_text_parse_long(line, random64() % n, &l), -1);
	}
}

static int long_line(const char *line, struct dt_long *l)
{
	return dt_text_parse_long(line, strlen(line), l);
}

/* What comes later is skipped: kinds, keys, flags; what is known must be right. */
static void check_f8_long_skips(void **state)
{
	struct dt_long l;

	assert_int_equal(long_line("kind=LOSS core=0 lost=5 begin=4100 end=6000\n", &l), 0);
	assert_int_equal(long_line("kind=STRING text=\"a = \\\"b\\\" c\" x=\n", &l), 0);
	assert_int_equal(long_line("# a comment\n", &l), 0);
	assert_int_equal(long_line("kind=E colour=\"deep blue\" ticks=5 v1=0x7 wait= "
				   "flags=LATER,BASE,\n",
				   &l),
			 1);
	assert_int_equal(l.record.ticks, 5);
	assert_int_equal(l.record.flags, DT_BASE);
	assert_int_equal(l.record.tid, DT_NO_TID);
	assert_int_equal(l.mask, 2);
	assert_int_equal(long_line("ticks=5 kind=E\n", &l), -1);
	assert_int_equal(long_line("kind=E ticks=18446744073709551616\n", &l), -1);
	assert_int_equal(long_line("kind=E pc=0x12345678123456789\n", &l), -1);
	assert_int_equal(long_line("kind=E core=65536\n", &l), -1);
	assert_int_equal(long_line("kind=E function=\"open\n", &l), -1);
	assert_int_equal(long_line("kind=E ticks\n", &l), -1);
	assert_int_equal(long_line("\n", &l), -1);
	assert_int_equal(long_line("kind=E", &l), -1);
}

/* ---- the compact line ---- */

static void test_compact(void **state)
{
	struct dt_compact c = {0};
	struct dt_record r = entry;
	char text[DT_COMPACT_TEXT + 1];

	text[dt_compact_put(&c, text, &r, 15)] = '\0';
	assert_string_equal(text, "#devtrace-compact 1\n@23c 1\n%g ffffffff80100000\n"
				  "E1aa68 88297eecd2e7 7be -7e533488 -7e5b2d58 -fffffff6\n");
	r = leave;
	r.core = 1;
	text[dt_compact_put(&c, text, &r, 1)] = '\0';
	assert_string_equal(text, "X1aac7 15e -7fe54388\n");
	r = entry;
	r.ticks = leave.ticks - 2;
	r.value[0]--;
	r.value[1] += 16;
	r.flags = 3 | DT_BASE;
	text[dt_compact_put(&c, text, &r, 0xb)] = '\0';
	assert_string_equal(text, "E1aa68 -2 -1 +10 . = !20\n");
	r.pc = 0x401136;
	r.tid = DT_NO_TID;
	r.kind = 3;
	r.flags = 0;
	text[dt_compact_put(&c, text, &r, 0)] = '\0';
	assert_string_equal(text, "@- 1\n%h 400000\n?03h1136 0\n");
}

/* What it holds comes back, whatever it is. */
static void check_082_compact_back(void **state)
{
	static const uint64_t module[] = {0x400000, 0x555555554000, 0x7ffff7c00000};
	struct dt_compact w = {0}, reader = {0};
	bool tame = false;

	for (int i = 0; i < 200000; i++) {
		struct dt_record r = {0}, back;
		unsigned mask = random64() & 15, got;
		char text[DT_COMPACT_TEXT], *line = text;
		size_t n;

		if (i % 1000 == 0)
			tame = !tame;
		r.ticks = tame ? w.ticks + random64() % 5000 : any_number();
		r.pc = tame ? module[random64() % 3] + random64() % 0x300000 : any_number();
		r.tid = random64() % 20 ? w.tid : (uint32_t)any_number();
		r.core = random64() % 20 ? w.core : (uint16_t)any_number();
		r.kind = random64() % 20 ? (uint8_t) "EXPVSRMNc"[random64() % 9]
					 : (uint8_t)random64();
		r.flags = (uint8_t)(random64() % 20 ? 0 : random64() & 0xf8);
		for (int j = 0; j < 4; j++) {
			uint64_t last = w.last[random64() % DT_COMPACT_SLOTS][j];

			if (mask >> j & 1)
				r.value[j] = random64() % 3 ? any_number()
							    : last + random64() % 512 - 256;
		}
		n = dt_compact_put(&w, text, &r, mask);
		assert_true(n <= DT_COMPACT_TEXT);
		for (int rc = 0; line < text + n; line = strchr(line, '\n') + 1) {
			assert_int_equal(rc, 0);
			text[n - 1] = '\n';
			rc = dt_compact_get(&reader, line,
					    (size_t)((char *)memchr(line, '\n', n) + 1 - line),
					    &back, &got);
			assert_int_equal(rc, line + strcspn(line, "\n") == text + n - 1);
		}
		assert_memory_equal(&back, &r, sizeof(r));
		assert_int_equal(got, mask);
	}
}

static int compact_line(struct dt_compact *c, const char *line)
{
	struct dt_record r;
	unsigned mask;

	return dt_compact_get(c, line, strlen(line), &r, &mask);
}

static void test_compact_refuses(void **state)
{
	static const char *const bad[] = {"E1136 5",
					  "\n",
					  "E\n",
					  "E1136\n",
					  "E1136 \n",
					  "E1136 5 \n",
					  "E1136 g\n",
					  "Eh1136 5\n",
					  "@1\n",
					  "@1 10000\n",
					  "@x 1\n",
					  "%w 5\n",
					  "%i 5\n",
					  "E1 5 1 2 3 4 5\n",
					  "?0\n",
					  "E1 12345678123456789\n",
					  "E1 5 !\n",
					  "E1 5 !20 1\n",
					  "@1ffffffff 0\n",
					  "% \n"};
	struct dt_compact c = {0}, before;

	assert_int_equal(compact_line(&c, "E1136 5\n"), -1); /* no first line */
	memset(&c, 0, sizeof(c));
	assert_int_equal(compact_line(&c, "#devtrace-compact 1\n"), 0);
	assert_int_equal(compact_line(&c, "E1136 5\n"), -1); /* no thread, no base yet */
	assert_int_equal(compact_line(&c, "@1 0\n"), 0);
	assert_int_equal(compact_line(&c, "%g 400000\n"), 0);
	assert_int_equal(compact_line(&c, "# 5 lost\n"), 0);
	assert_int_equal(compact_line(&c, "E1136 5 1\n"), 1);
	before = c;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (compact_line(&c, bad[i]) != -1)
			fail_msg("taken: %s", bad[i]);
		assert_memory_equal(&c, &before, sizeof(c));
	}
}

/* ---- Kitrace's line ---- */

static uint64_t clock_us(unsigned h, unsigned m, unsigned s, unsigned us)
{
	/* November 10, 1994 */
	return ((784425600ull + h * 3600 + m * 60 + s) * 1000000) + us;
}

static const char *kitrace(struct dt_kitrace *k, uint64_t us, unsigned flags)
{
	struct dt_kitrace_record r = {
		.symbol = "_sync", .us = us, .flags = flags, .tid = DT_NO_TID};
	static char line[DT_KITRACE_TEXT];

	line[dt_kitrace_line(k, line, &r)] = '\0';
	return line;
}

/* The paper's figure 1. */
static void test_kitrace(void **state)
{
	struct dt_kitrace_item item = {.name = "g1", .value = 0xf80a2424, .symbol = "_spec_sync"};
	struct dt_kitrace_record r = {.symbol = "_sync",
				      .offset = 0x50,
				      .us = clock_us(10, 33, 36, 342803),
				      .flags = 1,
				      .tid = 7759,
				      .item = &item,
				      .items = 1};
	struct dt_kitrace k = {0};
	char line[DT_KITRACE_TEXT];

	assert_string_equal(kitrace(&k, clock_us(10, 31, 36, 565348), 0),
			    "_sync 10:31:36.565348 ()\n");
	assert_string_equal(kitrace(&k, clock_us(10, 31, 49, 423993), 0),
			    "_sync 10:31:49.423993 (12.858645)\n");
	assert_string_equal(kitrace(&k, clock_us(10, 32, 10, 157718), DT_FREEZE),
			    "_sync 10:32:10.157718 (20.733725) FREEZE\n");
	line[dt_kitrace_line(&k, line, &r)] = '\0';
	assert_string_equal(line, "_sync+50 10:33:36.342803 (86.185085) pid 7759 "
				  "g1=f80a2424 (_spec_sync)\n");
	r.date = true;
	r.symbol = NULL;
	r.offset = 0xf80a2424;
	r.us -= 1;
	item.offset = 0x1c;
	line[dt_kitrace_line(&k, line, &r)] = '\0';
	assert_string_equal(line, "f80a2424 Nov 10 10:33:36.342802 (-0.000001) pid 7759 "
				  "g1=f80a2424 (_spec_sync+1c)\n");
}

/* Figure 7: a record that is a base is measured from the base before it. */
static void check_085_kitrace_base(void **state)
{
	struct dt_kitrace k = {0};

	assert_string_equal(kitrace(&k, clock_us(10, 34, 55, 254005), DT_UNFREEZE | DT_BASE),
			    "_sync 10:34:55.254005 () UNFREEZE BASE\n");
	assert_string_equal(kitrace(&k, clock_us(10, 34, 55, 301865), 0),
			    "_sync 10:34:55.301865 (0.047860)\n");
	assert_string_equal(kitrace(&k, clock_us(10, 34, 57, 511464), DT_KITRACE_LATEFREEZE),
			    "_sync 10:34:57.511464 (2.257459) LATEFREEZE\n");
	assert_string_equal(kitrace(&k, clock_us(10, 35, 3, 663681), DT_BASE),
			    "_sync 10:35:03.663681 (8.409676) BASE\n");
	assert_string_equal(kitrace(&k, clock_us(10, 35, 4, 663681), 0),
			    "_sync 10:35:04.663681 (1.000000)\n");
	assert_string_equal(kitrace(&k, clock_us(10, 35, 5, 0), DT_KITRACE_ADJACENT),
			    "_sync 10:35:05.000000 (1.336319)\n");
	assert_string_equal(kitrace(&k, clock_us(10, 35, 6, 5), 0),
			    "_sync 10:35:06.000005 (1.000005)\n");
}

/* Against the C library's calendar. */
static void test_kitrace_date(void **state)
{
	for (int i = 0; i < 20000; i++) {
		time_t t = i < 2000 ? 86400L * 365 * 30 + 86400L * i
				    : (time_t)(random64() % (86400ull * 365 * 400));
		struct dt_kitrace_record r = {.offset = 1,
					      .us = 1000000ull * (uint64_t)t,
					      .date = true,
					      .tid = DT_NO_TID};
		struct dt_kitrace k = {0};
		char line[DT_KITRACE_TEXT], want[64];
		struct tm tm;

		gmtime_r(&t, &tm);
		strftime(want, sizeof(want), "1 %b %d %H:%M:%S.000000 ()\n", &tm);
		line[dt_kitrace_line(&k, line, &r)] = '\0';
		assert_string_equal(line, want);
	}
}

/* Of words of others: what is seen stays, all else is shown as in C. */
static void test_plain(void **state)
{
	static const struct {
		const char *in, *plain, *cut;
	} of[] = {
		{"std::vector<int>::push_back", "std::vector<int>::push_back",
		 "std::vector<int>::push_back"},
		{"grüße \xe2\x82\xac \xf0\x9f\x98\x80", "grüße \xe2\x82\xac \xf0\x9f\x98\x80",
		 "grüße \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"a\033]0;x\007b", "a\\x1b]0;x\\x07b", "a?]0;x?b"},
		{"a\nb\tc\rd\177", "a\\nb\\tc\\x0dd\\x7f", "a?b?c?d?"},
		{"\xe2\x80\xae"
		 "abc\xe2\x80\x8f",
		 "\\u202eabc\\u200f", "???abc???"},
		{"\xc2\x9b"
		 "31m",
		 "\\u009b31m", "??31m"},
		{"\xf3\xa0\x81\x81", "\\U000e0041", "????"},
		/* no byte of its own, longer than need be, half of a pair, beyond the last, cut off
		 */
		{"\xff \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82",
		 "\\xff \\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x82",
		 "? ?? ??? ???? ??"},
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		size_t n = strlen(of[i].in), plain = dt_plain(NULL, of[i].in, n);
		char out[256] = "";

		assert_int_equal(plain, strlen(of[i].plain));
		assert_int_equal(dt_plain(out, of[i].in, n), plain);
		assert_string_equal(out, of[i].plain);
		assert_int_equal(dt_plain_is(of[i].in), !strcmp(of[i].in, of[i].plain));
		assert_true(dt_plain_is(out));
		strcpy(out, of[i].in);
		dt_plain_cut(out, false);
		assert_string_equal(out, of[i].cut);
	}
}

static void test_rings(void **state)
{
	char out[128], little[12];

	(void)state;
	dt_text_rings(out, sizeof(out), "0 1 65535 32768 32769 32770 65534", 2, "0 1000 33");
	assert_string_equal(
		out,
		"core 0 of user 0, core 1 of user 0, the shared ring of user 0, core 0 of user 1000, "
		"core 1 of user 1000, core 0 of user 33, the");
	dt_text_rings(out, sizeof(out), "65533 32770", 2, "0 1000 33");
	assert_string_equal(out, "the shared ring of user 33, core 0 of user 33");
	dt_text_rings(out, sizeof(out), "1 65535", 2, NULL);
	assert_string_equal(out, "core 1, the shared ring");
	/* what a hostile file has: no cores, no such user */
	dt_text_rings(out, sizeof(out), "3 32768 65300", 0, "7");
	assert_string_equal(out, "core 3 of user 7, core 32768 of user 7, the shared ring");
	dt_text_rings(out, sizeof(out), "", 2, NULL);
	assert_string_equal(out, "");
	dt_text_rings(out, sizeof(out), "no numbers", 2, "nor");
	assert_string_equal(out, "");
	dt_text_rings(little, sizeof(little), "10 11", 12, NULL);
	assert_string_equal(little, "core 10, co");
}

/* What an exit's line has behind the result is no part of it: what is read is what the line that is
 * written of it has. */
static void test_exit_has_a_result(void **state)
{
	static const char letters[] = "XEe";

	for (const char *kind = letters; *kind; kind++)
		for (int l = DT_LAYOUT_64; l <= DT_LAYOUT_32_CPU; l++) {
			const struct dt_record full = {.kind = DT_ENTRY,
						       .pc = 0x403705,
						       .ticks = 5,
						       .tid = 7,
						       .value = {1, 2, 3, 4}};
			enum dt_layout layout = (enum dt_layout)l;
			char line[DT_LINE + 1] = "", again[DT_LINE + 1] = "";
			struct dt_record r, back;
			size_t n = dt_layout_size(layout);

			dt_layout_line(line, layout, &full);
			line[0] = *kind;
			assert_true(dt_layout_parse(line, n, layout, &r));
			assert_int_equal(r.value[0], 1);
			assert_int_equal(r.value[1], *kind == DT_EXIT ? 0 : 2);
			dt_layout_line(again, layout, &r);
			assert_true(dt_layout_parse(again, n, layout, &back));
			assert_memory_equal(&r, &back, sizeof(r));
			assert_int_equal(strcmp(line, again) == 0, *kind != DT_EXIT);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_has_a_result),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_golden_lines),
		cmocka_unit_test(check_024_no_thread),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(check_081_layouts),
		cmocka_unit_test(test_layouts_back),
		cmocka_unit_test(test_kind_that_is_no_character),
		cmocka_unit_test(test_long_back),
		cmocka_unit_test(check_f8_long_skips),
		cmocka_unit_test(test_compact),
		cmocka_unit_test(check_082_compact_back),
		cmocka_unit_test(test_compact_refuses),
		cmocka_unit_test(test_kitrace),
		cmocka_unit_test(check_085_kitrace_base),
		cmocka_unit_test(test_kitrace_date),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
