/* SPDX-License-Identifier: MIT */
/* analyse/check.c: a sound trace is said to be; each damage, put in by itself, has its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/check.h"
#include "analyse/pyramid.h"
#include "store/chunk.h"
#include "test/unit/test-trace-scratch.h"

#define ROUNDS 30000 /* of three calls: several chunks */

static int64_t function[3];

/* main, f, g at 0x401000 and on; entries there, exits one byte behind. */
static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	(void)ctx;
	row->function = function[(r->pc - 0x401000) / 0x100 % 3];
	row->kind = r->kind == DT_ENTRY ? DT_SITE_ENTRY : DT_SITE_RETURN;
	row->values = 1;
}

static void put(struct dt_store *s, unsigned core, uint32_t tid, uint8_t kind, int f, uint64_t sp,
		uint64_t ticks, uint64_t lost)
{
	struct dt_record r = {.ticks = ticks,
			      .pc = 0x401000 + 0x100 * (uint64_t)f + (kind == DT_EXIT),
			      .tid = tid,
			      .kind = kind,
			      .sp = sp,
			      .value = {ticks}};

	assert_int_equal(dt_store_put(s, core, &r, 1, lost, NULL), 0);
}

/* Two threads on two cores; on the second, records are lost at one place. */
static void make_trace(void)
{
	const struct dt_module_row m = {10, 0x400000, 0x401000, 0x402000, "/bin/x", "ab", 1, 0};
	static const char *const name[] = {"main", "f", "g"};
	struct dt_store *s = dt_store_create(trace_path, describe, NULL, NULL);
	struct dt_pyramid *p;
	struct dt_reader *r;

	assert_non_null(s);
	assert_int_equal(dt_store_process(s, 10, 1, "/bin/x", "x", 1, NULL), 0);
	assert_int_equal(dt_store_module(s, &m, NULL), 1);
	assert_int_equal(dt_store_type(s, "e:color;RED=1", NULL), 1);
	for (int i = 0; i < 3; i++) {
		struct dt_function_row f = {
			1, 0x401000 + 0x100 * (uint64_t)i, 0x100, name[i], "x.c",
			1, i ? "a:e4#1@0;i4@0" : "",	   0,	  NULL};

		function[i] = dt_store_function(s, &f, NULL);
	}
	assert_int_equal(dt_store_clock(s, 500, 500, 1500, NULL), 0);
	for (uint32_t core = 0; core < 2; core++) {
		uint32_t tid = 11 + core;
		uint64_t t = 1000 + core;

		assert_int_equal(dt_store_thread(s, tid, 10, "t", NULL), 0);
		put(s, core, tid, DT_ENTRY, 0, 0x7000, t, 0);
		for (int i = 0; i < ROUNDS; i++) {
			put(s, core, tid, DT_ENTRY, 1, 0x6f00, t += 10, core && i == 7 ? 5 : 0);
			put(s, core, tid, DT_ENTRY, 2, 0x6e00, t += 10, 0);
			put(s, core, tid, DT_EXIT, 2, 0x6e00, t += 10, 0);
			put(s, core, tid, DT_EXIT, 1, 0x6f00, t += 10, 0);
		}
		put(s, core, tid, DT_EXIT, 0, 0x7000, t + 10, 0);
	}
	assert_int_equal(dt_store_clock(s, 2000000, 2000000, 2001000, NULL), 0);
	assert_int_equal(dt_store_close(s, NULL), 0);
	r = dt_reader_open(trace_path, NULL);
	p = dt_pyramid_open(r, trace_path, NULL);
	assert_int_equal(dt_pyramid_build(p, UINT64_MAX / 2, NULL), 0);
	assert_int_equal(dt_pyramid_save(p, trace_path, NULL), 0);
	dt_pyramid_close(p);
	dt_reader_close(r);
}

static void run(const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open(trace_path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

/* Also what says that it has more records than such a file can have. */
static void check(struct dt_check *c)
{
	struct dt_error e = {""};
	struct dt_reader *r;

	setenv("DEVTRACE_DENSE", "1", 1);
	r = dt_reader_open(trace_path, &e);
	if (!r)
		fail_msg("%s", e.text);
	if (dt_check_trace(r, trace_path, &(struct dt_check_how){.again = true}, c, &e))
		fail_msg("%s", e.text);
	dt_reader_close(r);
}

static void test_sound(void **state)
{
	struct dt_check c;

	(void)state;
	make_trace();
	check(&c);
	for (unsigned i = 0; i < DT_FAULTS; i++)
		if (c.faults.kind[i].n)
			fail_msg("%s: %s", dt_faults_words(i, 2), c.faults.kind[i].first);
	assert_true(c.paired && c.kept && c.remade);
	assert_int_equal(c.chunks.records, 8 * ROUNDS + 4);
	assert_int_equal(c.chunks.lost, 5);
	assert_int_equal(c.calls.calls, 4 * ROUNDS + 2);
	assert_int_equal(c.calls.entries, c.calls.exits);
	/* in the second thread's main records were lost */
	assert_int_equal(c.calls.returned, 4 * ROUNDS + 2);
	assert_int_equal(c.calls.lossy, 1);
	assert_int_equal(c.calls.timed, 4 * ROUNDS + 1);
	dt_check_free(&c);
}

static void test_damage(void **state)
{

	static const struct {
		const char *sql;
		enum dt_fault_kind kind;
		const char *words; /* of the first */
		uint64_t n;	   /* 0: at least one */
	} damage[] = {
		/* chunks */
		{"UPDATE chunk SET events = substr(events, 1, 40) || zeroblob(9) || substr(events, 50) WHERE id = 2",
		 DT_FAULT_CHUNK, "chunk 2, of core", 1},
		{"UPDATE chunk SET events = x'' WHERE id IN (1, 3)", DT_FAULT_CHUNK, "no head", 2},
		{"UPDATE chunk SET vals = x'' WHERE id = 1", DT_FAULT_CHUNK, "chunk 1", 1},
		{"UPDATE chunk SET vals = substr(vals, 1, length(vals) - 3) WHERE id = 1",
		 DT_FAULT_CHUNK, "values", 1},
		{"UPDATE chunk SET records = 5 WHERE id = 1", DT_FAULT_CHUNK, "impossible head", 1},
		{"UPDATE chunk SET records = 4294967297 WHERE id = 1", DT_FAULT_CHUNK,
		 "impossible head", 1},
		{"UPDATE chunk SET first = first + 7 WHERE id = 2", DT_FAULT_PLACE, "chunk 2", 0},
		{"DELETE FROM chunk WHERE id = (SELECT id FROM chunk WHERE core = 1 AND first = 0)",
		 DT_FAULT_PLACE, "0 records before it", 1},
		{"UPDATE chunk SET core = 70000 WHERE id = 1", DT_FAULT_ROW, "core 70000", 1},
		{"UPDATE chunk SET min_ticks = min_ticks + 1 WHERE id = 1", DT_FAULT_HEAD,
		 "its row says", 1},
		{"UPDATE chunk SET max_ticks = 'x' WHERE id = 1", DT_FAULT_ROW, "chunk, row 1", 1},
		/* what the same chunks say twice is later than it is */
		{"UPDATE chunk SET first = 131072 - first WHERE core = 0 AND first IN (0, 65536) AND "
		 "(SELECT count(*) FROM chunk WHERE core = 0) > 1",
		 DT_FAULT_PLACE, "", 0},
		/* tables */
		{"UPDATE site SET function = 99 WHERE id = 1", DT_FAULT_ROW,
		 "there is no function 99", 1},
		{"UPDATE site SET function = 0 WHERE id = 2", DT_FAULT_SITE, "of no function", 1},
		{"UPDATE site SET mask = 3 WHERE id = 2", DT_FAULT_HEAD, "other values of site 2",
		 0},
		{"UPDATE site SET mask = 300 WHERE id = 2", DT_FAULT_ROW, "values 300", 1},
		{"UPDATE site SET pc = 5 WHERE id = 3", DT_FAULT_SITE, "pc 5 is not in the module",
		 1},
		{"UPDATE site SET kind = 'X', place = 'X' WHERE id = 2", DT_FAULT_PAIR, "", 0},
		{"UPDATE function SET module = 7 WHERE id = 1", DT_FAULT_ROW,
		 "there is no module 7", 1},
		{"UPDATE function SET signature = 'a:i4#9@0;v' WHERE id = 1", DT_FAULT_ROW,
		 "there is no type 'i4#9'", 1},
		{"UPDATE function SET signature = 'a:i4@0;q99@0' WHERE id = 1", DT_FAULT_ROW,
		 "'q99' is no type", 1},
		{"UPDATE function SET signature = 'a' WHERE id = 1", DT_FAULT_ROW,
		 "'a' is no signature", 1},
		{"UPDATE function SET address = NULL WHERE id = 1", DT_FAULT_ROW, "function, row 1",
		 1},
		{"UPDATE module SET low = 0x402000, high = 0x401000", DT_FAULT_ROW,
		 "ends before it begins", 1},
		{"UPDATE module SET end_ticks = 1, begin_ticks = 2", DT_FAULT_TIMES, "gone before",
		 1},
		{"UPDATE thread SET tid = 99 WHERE tid = 12", DT_FAULT_THREAD, "thread 12", 1},
		{"UPDATE thread SET pid = 99 WHERE tid = 12", DT_FAULT_ROW, "process 99", 1},
		{"UPDATE process SET end_ticks = 1, begin_ticks = 2", DT_FAULT_TIMES, "process 10",
		 1},
		{"INSERT INTO exec VALUES (77, 1500)", DT_FAULT_ROW, "process 77", 1},
		{"INSERT INTO pause VALUES (20, 10, 'stopped', 1, 0)", DT_FAULT_TIMES,
		 "pause, row 1", 1},
		{"INSERT INTO change VALUES (1500, 1400, 'x', 0)", DT_FAULT_TIMES,
		 "change, row 1: ends before", 1},
		{"INSERT INTO change VALUES ('x', 1400, 'x', 0)", DT_FAULT_ROW, "change, row 1", 1},
		{"INSERT INTO clock VALUES (600, 600, 600)", DT_FAULT_TIMES, "clock, row 3", 1},
		{"CREATE TABLE activities(id INTEGER PRIMARY KEY, name, begin, end, duration, thread, core, "
		 "key, text); INSERT INTO activities VALUES (1, 'x', 1, 5, 9, NULL, NULL, NULL, NULL)",
		 DT_FAULT_TIMES, "activities, row 1", 1},
		/* losses */
		{"UPDATE loss SET lost = 0", DT_FAULT_LOSS, "0 records", 1},
		{"UPDATE loss SET after = 99999999", DT_FAULT_LOSS, "it has but", 2},
		{"UPDATE loss SET end_ticks = begin_ticks - 1", DT_FAULT_LOSS,
		 "ends before it begins", 1},
		{"UPDATE loss SET end_ticks = 0", DT_FAULT_LOSS, "records come after", 1},
		{"INSERT INTO loss VALUES (-1, 0, 1, 0, 0)", DT_FAULT_ROW, "core -1", 1},
		{"INSERT OR REPLACE INTO lost_switches SELECT core, after, lost + 1 FROM loss LIMIT 1",
		 DT_FAULT_LOSS, "context switches of", 1},
		{"INSERT INTO lost_switches VALUES (0, 987654, 1)", DT_FAULT_LOSS,
		 "1 context switches of 0 records", 1},
		/* what view keeps */
		{"UPDATE pyramid SET data = zeroblob(length(data)) WHERE id = 2", DT_FAULT_PYRAMID,
		 "", 0},
		{"DELETE FROM pyramid WHERE id > 1", DT_FAULT_PYRAMID, "", 0},
		{"UPDATE function SET name = 'h' WHERE id = 3; INSERT INTO function SELECT 4, 0, 0, 0, 'n', '', 0, ''",
		 DT_FAULT_PYRAMID, "another state", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		struct dt_check c;
		const struct dt_fault *f;

		make_trace();
		run(damage[i].sql);
		check(&c);
		f = &c.faults.kind[damage[i].kind];
		if (!f->n || (damage[i].n && f->n != damage[i].n) ||
		    !strstr(f->first, damage[i].words)) {
			for (unsigned k = 0; k < DT_FAULTS; k++)
				if (c.faults.kind[k].n)
					print_error("%lu %s: %s\n",
						    (unsigned long)c.faults.kind[k].n,
						    dt_faults_words(k, 2), c.faults.kind[k].first);
			fail_msg("not as it should be: %s", damage[i].sql);
		}
		dt_check_free(&c);
	}
}

/* Records that are earlier than others, of a core and of a thread; exits that nothing explains. */
static void test_records(void **state)
{
	struct dt_store *s;
	struct dt_check c;

	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct dt_fault *f;

		s = dt_store_create(trace_path, describe, NULL, NULL);
		assert_non_null(s);
		for (int k = 0; k < 3; k++) {
			struct dt_function_row row = {
				0, 0x401000 + 0x100 * (uint64_t)k, 0x100, "x", "", 0, "", 0, NULL};

			function[k] = dt_store_function(s, &row, NULL);
		}
		put(s, 0, 1, DT_ENTRY, 2, 0x6e00, 900, 0);
		put(s, 0, 1, DT_EXIT, 2, 0x6e00, 950, 0);
		put(s, 0, 1, DT_ENTRY, 0, 0x7000, 1000, 0);
		put(s, 0, 1, DT_ENTRY, 1, 0x6f00, 2000, 0);
		if (i == 0) /* another thread's */
			put(s, 0, 2, DT_ENTRY, 0, 0x17000, 1500, 0);
		if (i == 1)
			put(s, 0, 1, DT_ENTRY, 2, 0x6e00, 1900, 0);
		if (i == 2) /* it had been recorded before, and its caller has not ended */
			put(s, 0, 1, DT_EXIT, 2, 0x6e00, 2500, 0);
		put(s, 0, 1, DT_EXIT, 1, 0x6f00, 3000, 0);
		assert_int_equal(dt_store_close(s, NULL), 0);
		check(&c);
		f = &c.faults.kind[i < 2 ? DT_FAULT_ORDER : DT_FAULT_PAIR];
		assert_int_equal(f->n, 1);
		assert_non_null(strstr(f->first, i == 0	  ? "record 4 of core 0, 500 ticks earlier"
						 : i == 1 ? "record 4 of core 0, 100 ticks earlier"
							  : "thread 1, at tick 2500"));
		assert_int_equal(c.faults.kind[DT_FAULT_BACK].n, i == 1);
		dt_check_free(&c);
	}
}

/*
 * The same exit has a reason when a command changed what is recorded between its entry and it, or
 * when the file was cut off before the core of its entry had been read as far.
 */
static void test_reasons(void **state)
{
	static const struct {
		const char *sql;
		uint64_t faults, early;
	} reason[] = {
		{"SELECT 1", 1, 0},
		{"INSERT INTO change VALUES (2100, 2200, 'trace selection off', 0)", 0, 0},
		{"INSERT INTO change VALUES (1900, 2010, 'trace selection off', 0)", 0, 0},
		{"INSERT INTO change VALUES (2490, 2600, 'trace selection off', 0)", 0, 0},
		/* not in that time, in which its entry is missing */
		{"INSERT INTO change VALUES (1100, 1990, 'trace selection off', 0)", 1, 0},
		{"INSERT INTO change VALUES (2510, 2600, 'trace selection off', 0)", 1, 0},
		{"INSERT INTO meta VALUES ('policy', 'wait'), ('whole_until', '2400')", 0, 1},
		{"INSERT INTO meta VALUES ('policy', 'wait'), ('whole_until', '0')", 0, 1},
		{"INSERT INTO meta VALUES ('policy', 'wait'), ('whole_until', '2500')", 1, 0},
		/* an older devtrace's does not say how far it was read */
		{"INSERT INTO meta VALUES ('policy', 'wait')", 1, 0},
		/* it ended in order */
		{"INSERT INTO meta VALUES ('policy', 'wait'), ('whole_until', '2400'), ('longest_stop', '9')",
		 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(reason) / sizeof(*reason); i++) {
		struct dt_store *s = dt_store_create(trace_path, describe, NULL, NULL);
		struct dt_check c;

		assert_non_null(s);
		for (int k = 0; k < 3; k++) {
			struct dt_function_row row = {
				0, 0x401000 + 0x100 * (uint64_t)k, 0x100, "x", "", 0, "", 0, NULL};

			function[k] = dt_store_function(s, &row, NULL);
		}
		put(s, 0, 1, DT_ENTRY, 0, 0x7000, 1000, 0);
		put(s, 0, 1, DT_ENTRY, 2, 0x6f00, 1500, 0);
		put(s, 0, 1, DT_EXIT, 2, 0x6f00, 2000, 0);
		put(s, 1, 1, DT_EXIT, 2, 0x6f00, 2500, 0);
		assert_int_equal(dt_store_clock(s, 500, 500, 500, NULL), 0);
		assert_int_equal(dt_store_clock(s, 9000, 9000, 9000, NULL), 0);
		assert_int_equal(dt_store_close(s, NULL), 0);
		run(reason[i].sql);
		check(&c);
		if (c.faults.kind[DT_FAULT_PAIR].n != reason[i].faults ||
		    c.calls.early != reason[i].early)
			fail_msg("%s: %lu faults, %lu too early", reason[i].sql,
				 (unsigned long)c.faults.kind[DT_FAULT_PAIR].n,
				 (unsigned long)c.calls.early);
		assert_int_equal(dt_faults_sum(&c.faults), reason[i].faults);
		dt_check_free(&c);
	}
}

/* A controller that is killed has written no loss without the records in front of it. */
static void test_killed(void **state)
{
	struct dt_check c;
	int status;
	pid_t pid;

	(void)state;
	/* what has been committed is there at any time; that it is not before is what is tried */
	for (int records = DT_CHUNK_MAX - 1; records <= DT_CHUNK_MAX + 1; records++) {
		pid = fork();
		if (pid == 0) {
			struct dt_store *s = dt_store_create(trace_path, describe, NULL, NULL);

			for (int k = 0; k < 3; k++) {
				struct dt_function_row row = {0,     0x401000 + 0x100 * (uint64_t)k,
							      0x100, "x",
							      "",    0,
							      "",    0,
							      NULL};

				function[k] = dt_store_function(s, &row, NULL);
			}
			dt_store_flush(s, NULL);
			put(s, 1, 2, DT_ENTRY, 0, 0x17000, 1000, 0);
			put(s, 1, 2, DT_ENTRY, 1, 0x16f00, 1100, 7);
			for (int i = 0; i < records; i++)
				put(s, 0, 1, i % 2 ? DT_EXIT : DT_ENTRY, 0, 0x7000,
				    1200 + (uint64_t)i, 0);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		check(&c);
		for (unsigned i = 0; i < DT_FAULTS; i++)
			if (c.faults.kind[i].n)
				fail_msg("%d: %s: %s", records, dt_faults_words(i, 2),
					 c.faults.kind[i].first);
		assert_int_equal(c.chunks.records, records < DT_CHUNK_MAX ? 0 : DT_CHUNK_MAX + 2);
		assert_int_equal(c.chunks.lost, records < DT_CHUNK_MAX ? 0 : 7);
		dt_check_free(&c);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_sound), TEST(test_damage), TEST(test_records),
					   TEST(test_reasons), TEST(test_killed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
