/* SPDX-License-Identifier: MIT */
/*
 * filter/sums.c and store/sums.c: sums over calls that are made up. What is right is added up from
 * the list of calls, by trying all pairs of them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "filter/sums-table.h"
#include "store/store.h"
#include "store/sums.h"
#include "test/unit/test-trace-scratch.h"

typedef __int128 wide;

static const struct dt_function_info function[] = {
	{.name = "none", .file = "", .signature = ""},
	{.name = "f", .file = "", .signature = "n:i4@0,m:u8@1;i8@0!-@3"},
	{.name = "g", .file = "", .signature = "n:i16@0+1;f8@0"},
	{.name = "h", .file = "", .signature = "n:f8@0;v"},
};

static const struct dt_function_info *function_of(const void *ctx, uint32_t row)
{
	return row && row < 4 ? &function[row] : NULL;
}

static const char *module_of(const void *ctx, uint32_t row)
{
	return "";
}

static const struct dt_meanings meanings = {
	.ns_per_tick = 0.5, .function = function_of, .module = module_of};

static struct dt_sums *sums_of(size_t n, const char *const *text)
{
	struct dt_error e = {""};
	struct dt_sums *s = dt_sums_new(text, n, &meanings, &e);

	if (!s)
		fail_msg("%s", e.text);
	return s;
}

static unsigned no_callers(const void *ctx, uint32_t *out, unsigned most)
{
	return 0;
}

static void call(struct dt_sums *s, uint32_t f, const uint64_t argument[4],
		 const uint64_t result[4])
{
	const struct dt_sums_around around = {.callers = no_callers};
	struct dt_call c = {.id = 1,
			    .function = f,
			    .begin = 10,
			    .end = 20,
			    .argument = argument,
			    .result = result};

	dt_sums_end(s, &c, dt_sums_begin(s, &c, dt_sums_nobody(s)), &around);
}

/* The rows of a sum as lines: "key,key calls unknown sum least greatest". */
static char text[4096];

static int print_row(void *ctx, const struct dt_sums_row *row)
{
	char *p = text + strlen(text), number[48];
	uint32_t at = 0;

	while (at < row->n) {
		struct dt_sums_part part = dt_sums_part(row, &at);
		double real;

		memcpy(&real, &part.number, sizeof(real));
		if (part.kind == DT_SUMS_NUMBER)
			p += sprintf(p, "%s,",
				     dt_sums_number(number, part.negative
								    ? (wide)(int64_t)part.number
								    : (wide)part.number));
		else if (part.kind == DT_SUMS_REAL)
			p += sprintf(p, "%g,", real);
		else
			p += sprintf(p, "?,");
	}
	p += sprintf(p, " %lu %lu", (unsigned long)row->calls, (unsigned long)row->unknown);
	if (row->real) {
		sprintf(p, " %g %g %g\n", row->floating.sum, row->floating.least,
			row->floating.greatest);
	} else {
		p += sprintf(p, " %s", dt_sums_number(number, row->sum));
		p += sprintf(p, " %s", dt_sums_number(number, row->least));
		sprintf(p, " %s\n", dt_sums_number(number, row->greatest));
	}
	return 0;
}

static const char *rows_of(struct dt_sums *s, size_t i)
{
	text[0] = '\0';
	assert_int_equal(dt_sums_each(s, i, false, print_row, NULL), 0);
	return text;
}

#define HALF_UP ((uint64_t)1 << 63)

/* Numbers of 128 bits are summed up; as keys those of 64 bits are told apart. */
static void test_wide_numbers(void **state)
{
	struct dt_sums *s = sums_of(2, (const char *const[]){"sum(n)", "count by n"});

	(void)state;
	call(s, 2, (uint64_t[4]){5, 0}, NULL);
	call(s, 2, (uint64_t[4]){5, 1}, NULL);
	call(s, 2, (uint64_t[4]){5, 2}, NULL);
	call(s, 2, (uint64_t[4]){(uint64_t)-7, UINT64_MAX}, NULL);
	call(s, 2, (uint64_t[4]){UINT64_MAX, 0}, NULL);
	call(s, 2, (uint64_t[4]){HALF_UP, UINT64_MAX}, NULL);
	call(s, 2, (uint64_t[4]){HALF_UP - 1, UINT64_MAX}, NULL);
	/* 3 * 2^64 + 15 - 7 + 2^64 - 1 - 2^63 - 2^63 - 1: 3 * 2^64 + 6 */
	assert_string_equal(rows_of(s, 0), " 7 0 55340232221128654854 -9223372036854775809 "
					   "36893488147419103237\n");
	assert_string_equal(rows_of(s, 1), "5, 1 0 0 0 0\n?, 3 0 0 0 0\n-7, 1 0 0 0 0\n"
					   "18446744073709551615, 1 0 0 0 0\n"
					   "-9223372036854775808, 1 0 0 0 0\n");
	assert_false(dt_sums_failed(s));
	dt_sums_free(s);
}

/* What is no number is no value: in whatever order it comes. */
static void test_no_numbers(void **state)
{
	static const double value[] = {2.5, NAN, -1};

	(void)state;
	for (int order = 0; order < 27; order++) {
		struct dt_sums *s = sums_of(2, (const char *const[]){"hist(n)", "count by n"});
		unsigned in[3] = {(unsigned)order % 3, (unsigned)order / 3 % 3,
				  (unsigned)order / 9};
		char want[64];
		double sum = 0, least = INFINITY, greatest = -INFINITY;
		unsigned unknown = 0;

		for (int i = 0; i < 3; i++) {
			double v = value[in[i]];
			uint64_t bits[4] = {0};

			memcpy(bits, &v, sizeof(v));
			call(s, 3, bits, NULL);
			unknown += in[i] == 1;
			sum += in[i] == 1 ? 0 : v;
			least = fmin(least, v);
			greatest = fmax(greatest, v);
		}
		snprintf(want, sizeof(want), " 3 %u %g %g %g\n", unknown, sum, least, greatest);
		if (unknown == 3)
			strcpy(want, " 3 3 0 0 0\n");
		assert_string_equal(rows_of(s, 0), want);
		dt_sums_free(s);
	}
}

/* Infinite values are values: their sum may be no number, what is least and greatest is known. */
static void test_infinite(void **state)
{
	static const double value[] = {INFINITY, 1, -INFINITY};
	struct dt_sums *s = sums_of(1, (const char *const[]){"hist(n)"});

	(void)state;
	for (int i = 0; i < 3; i++) {
		uint64_t bits[4] = {0};

		memcpy(bits, &value[i], sizeof(value[i]));
		call(s, 3, bits, NULL);
	}
	assert_non_null(strstr(rows_of(s, 0), "nan -inf inf"));
	dt_sums_free(s);
}

/* ---- many rows ---- */

struct row {
	uint64_t calls;
	int64_t sum, least, greatest;
};

static int take_row(void *ctx, const struct dt_sums_row *row)
{
	struct row *of = ctx;
	uint32_t at = 0;
	struct dt_sums_part key = dt_sums_part(row, &at);

	assert_true(key.number < 70000);
	assert_int_equal(of[key.number].calls, 0);
	of[key.number] = (struct row){row->calls, (int64_t)row->sum, (int64_t)row->least,
				      (int64_t)row->greatest};
	return row->number == 65535 ? 7 : 0;
}

static void test_many_rows(void **state)
{
	struct dt_sums *s = sums_of(1, (const char *const[]){"sum(n) by m"});
	struct row *want = calloc(70000, sizeof(*want)), *got = calloc(70000, sizeof(*got));
	uint64_t seed = 99;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		uint64_t argument[4];
		struct row *w;
		int32_t n;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		/* the first 70,000 have each key once */
		argument[1] = i < 70000 ? (uint64_t)i : (seed >> 20) % 70000;
		n = (int32_t)(seed >> 40) - 8388608;
		argument[0] = (uint32_t)n | 0xabcd00000000;
		call(s, 1, argument, NULL);
		w = &want[argument[1]];
		w->least = !w->calls || n < w->least ? n : w->least;
		w->greatest = !w->calls || n > w->greatest ? n : w->greatest;
		w->sum += n;
		w->calls++;
	}
	/* what fn returns ends it */
	assert_int_equal(dt_sums_each(s, 0, false, take_row, got), 7);
	assert_int_equal(dt_sums_totals(s, 0).calls, 300000);
	for (int i = 0; i < 70000; i++) {
		if (i >= 65536) {
			assert_int_equal(got[i].calls, 0);
			got[65536].least += (int64_t)want[i].calls; /* in no row */
			continue;
		}
		assert_memory_equal(&got[i], &want[i], sizeof(got[i]));
	}
	assert_int_equal(dt_sums_totals(s, 0).others, got[65536].least);
	/* cleared, all of them have room again */
	dt_sums_clear(s, 0);
	assert_int_equal(dt_sums_totals(s, 0).calls, 0);
	call(s, 1, (uint64_t[4]){3, 69999}, NULL);
	assert_string_equal(rows_of(s, 0), "69999, 1 0 3 3 3\n");
	free(want);
	free(got);
	dt_sums_free(s);
}

/* Rows are passed on again when they have changed, and only those. */
static void test_changed(void **state)
{
	struct dt_sums *s = sums_of(1, (const char *const[]){"count by m"});

	(void)state;
	for (uint64_t m = 1; m <= 3; m++)
		call(s, 1, (uint64_t[4]){0, m}, NULL);
	text[0] = '\0';
	dt_sums_each(s, 0, true, print_row, NULL);
	assert_string_equal(text, "1, 1 0 0 0 0\n2, 1 0 0 0 0\n3, 1 0 0 0 0\n");
	call(s, 1, (uint64_t[4]){0, 2}, NULL);
	text[0] = '\0';
	dt_sums_each(s, 0, true, print_row, NULL);
	assert_string_equal(text, "2, 2 0 0 0 0\n");
	text[0] = '\0';
	dt_sums_each(s, 0, true, print_row, NULL);
	assert_string_equal(text, "");
	dt_sums_touch(s);
	dt_sums_each(s, 0, true, print_row, NULL);
	assert_string_equal(text, "1, 1 0 0 0 0\n2, 2 0 0 0 0\n3, 1 0 0 0 0\n");
	dt_sums_free(s);
}

/* ---- notes ---- */

/* The notes of eight sums are eight digits of hexadecimal: one is taken out. */
static void test_notes(void **state)
{
	(void)state;
	for (uint64_t note = 1; note < UINT32_MAX; note = 3 * note + 11)
		for (size_t i = 0; i < 8; i++) {
			char digits[32], rest[32];

			snprintf(digits, sizeof(digits), "%08x", (unsigned)note);
			snprintf(rest, sizeof(rest), "0%.*s%s", (int)(7 - i), digits,
				 digits + 8 - i);
			assert_int_equal(dt_sums_note_without((uint32_t)note, i),
					 strtoul(rest, NULL, 16));
		}
}

/* A sum that is added while calls are open counts none of those, but what is in them. */
static void test_added(void **state)
{
	struct dt_sums *s = sums_of(2, (const char *const[]){"count", "count if in:g"});
	struct dt_call outer = {.id = 1, .function = 2}, inner = {.id = 2, .function = 1};
	const struct dt_sums_around around = {.callers = no_callers};
	uint32_t nobody = dt_sums_nobody(s), note, in;
	struct dt_error e;

	(void)state;
	note = dt_sums_begin(s, &outer, nobody);
	assert_int_equal(dt_sums_add(s, "count if in:g f", &e), 0);
	nobody = dt_sums_note_with(s, nobody, 0, 0);
	note = dt_sums_note_with(s, note, nobody, 2);
	in = dt_sums_begin(s, &inner, note);
	dt_sums_end(s, &inner, in, &around);
	dt_sums_end(s, &outer, note, &around);
	assert_string_equal(rows_of(s, 0), " 2 0 0 0 0\n");
	assert_string_equal(rows_of(s, 1), " 2 0 0 0 0\n");
	assert_string_equal(rows_of(s, 2), " 1 0 0 0 0\n");
	/* the second one goes: the third takes its place, with its part of the notes */
	note = dt_sums_note_without(dt_sums_begin(s, &outer, nobody), 1);
	dt_sums_remove(s, 1);
	in = dt_sums_begin(s, &inner, note);
	dt_sums_end(s, &inner, in, &around);
	dt_sums_end(s, &outer, note, &around);
	assert_int_equal(dt_sums_count(s), 2);
	assert_string_equal(rows_of(s, 0), " 4 0 0 0 0\n");
	assert_string_equal(rows_of(s, 1), " 2 0 0 0 0\n");
	while (dt_sums_count(s) < DT_SUMS_MOST)
		assert_int_equal(dt_sums_add(s, "count", &e), 0);
	assert_int_equal(dt_sums_add(s, "count", &e), -1);
	dt_sums_free(s);
}

/* ---- in a file ---- */

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
}

static struct dt_sum_line line[8];
static uint64_t buckets[8][DT_SUM_BUCKETS];
static size_t lines, limit;

static int take_line(void *ctx, const struct dt_sum_line *l)
{
	line[lines] = *l;
	if (l->bucket)
		memcpy(buckets[lines], l->bucket, sizeof(buckets[lines]));
	lines++;
	return lines == limit ? 5 : 0;
}

static int take_sum(void *ctx, const struct dt_sum_row *row)
{
	assert_int_equal(row->sum, lines);
	assert_string_equal(row->words, lines ? "hist(n)" : "count by \"x\"");
	assert_int_equal(row->calls, 10 + lines);
	assert_true(row->others == UINT64_MAX - lines && row->missed == 3);
	lines++;
	return lines == limit ? -3 : 0;
}

static bool is_same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b;
}

static void test_file(void **state)
{
	static const wide whole[][3] = {{0, -1, 1},
					{(wide)INT64_MAX + 1, (wide)INT64_MIN - 1, INT64_MAX},
					{-((wide)1 << 126), (wide)INT64_MIN, (wide)1 << 126}};
	static const double real[][3] = {{0.5, -1, 3}, {NAN, -INFINITY, INFINITY}, {1e300, 2, 7}};
	uint64_t bucket[DT_SUM_BUCKETS] = {[0] = 1, [64] = UINT64_MAX / 4, [128] = 9};
	struct dt_error e = {""};
	struct dt_store *s = dt_store_create(trace_path, describe, NULL, &e);
	struct dt_reader *r;

	(void)state;
	assert_non_null(s);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			dt_store_sum(s,
				     &(struct dt_sum_row){i, i ? "hist(n)" : "count by \"x\"",
							  10 + i, UINT64_MAX - i, 3},
				     &e),
			0);
	for (unsigned i = 0; i < 6; i++) {
		struct dt_sum_line l = {.sum = 1,
					.row = 5 - i,
					.function = i,
					.calls = i + 1,
					.unknown = i,
					.real = i >= 3,
					.key = "k\0y",
					.key_n = i ? 3 : 0,
					.bucket = i % 2 ? bucket : NULL};

		for (int k = 0; k < 3; k++) {
			l.number[k] = i < 3 ? whole[i][k] : 0;
			l.floating[k] = i < 3 ? 0 : real[i - 3][k];
		}
		/* the later one counts */
		if (i == 2)
			assert_int_equal(
				dt_store_sum_line(s, &(struct dt_sum_line){.sum = 1, .row = 3}, &e),
				0);
		assert_int_equal(dt_store_sum_line(s, &l, &e), 0);
	}
	assert_int_equal(dt_store_close(s, &e), 0);
	r = dt_reader_open(trace_path, &e);
	assert_non_null(r);
	lines = 0;
	limit = 9;
	assert_int_equal(dt_sums_read(r, take_sum, NULL, &e), 0);
	assert_int_equal(lines, 2);
	lines = 0;
	assert_int_equal(dt_sums_read_lines(r, 0, take_line, NULL, &e), 0);
	assert_int_equal(lines, 0);
	assert_int_equal(dt_sums_read_lines(r, 1, take_line, NULL, &e), 0);
	assert_int_equal(lines, 6);
	for (unsigned i = 0; i < 6; i++) {
		const struct dt_sum_line *l = &line[5 - i]; /* in the order of their rows */

		assert_int_equal(l->row, 5 - i);
		assert_int_equal(l->function, i);
		assert_true(l->calls == i + 1 && l->unknown == i && l->key_n == (i ? 3 : 0));
		assert_int_equal(l->real, i >= 3);
		for (int k = 0; k < 3; k++)
			assert_true(i < 3 ? l->number[k] == whole[i][k]
					  : is_same(l->floating[k], real[i - 3][k]));
		assert_int_equal(l->bucket != NULL, i % 2);
		if (i % 2)
			assert_memory_equal(buckets[5 - i], bucket, sizeof(bucket));
	}
	/* both end when they are told, and say what they were told */
	lines = 0;
	limit = 1;
	assert_int_equal(dt_sums_read(r, take_sum, NULL, &e), -3);
	assert_int_equal(lines, 1);
	lines = 0;
	limit = 2;
	assert_int_equal(dt_sums_read_lines(r, 1, take_line, NULL, &e), 5);
	assert_int_equal(lines, 2);
	dt_reader_close(r);
}

static void test_damaged_buckets(void **state)
{
	static const char *const bad[] = {"129:1", "x:1", "64", "64:", "64:1x", "64:1 65", "-1:1"};
	struct dt_error e = {""};
	char sql[100];
	sqlite3 *db;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct dt_store *s = dt_store_create(trace_path, describe, NULL, &e);
		struct dt_reader *r;

		assert_non_null(s);
		assert_int_equal(dt_store_sum(s, &(struct dt_sum_row){0, "hist(n)", 1, 0, 0}, &e),
				 0);
		assert_int_equal(
			dt_store_sum_line(
				s,
				&(struct dt_sum_line){
					.calls = 1, .bucket = (uint64_t[DT_SUM_BUCKETS]){[64] = 1}},
				&e),
			0);
		assert_int_equal(dt_store_close(s, &e), 0);
		snprintf(sql, sizeof(sql), "UPDATE sum_line SET buckets='%s'", bad[i]);
		assert_int_equal(sqlite3_open(trace_path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		r = dt_reader_open(trace_path, &e);
		assert_non_null(r);
		lines = 0;
		assert_int_equal(dt_sums_read_lines(r, 0, take_line, NULL, &e), -1);
		assert_non_null(strstr(e.text, "damaged: buckets of a sum"));
		assert_int_equal(lines, 0);
		dt_reader_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wide_numbers),
		cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_infinite),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_added),
		cmocka_unit_test_setup_teardown(test_file, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_damaged_buckets, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
