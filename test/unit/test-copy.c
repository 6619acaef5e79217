/* SPDX-License-Identifier: MIT */
/* store/copy: a copy of a trace that is being written is whole, and holds what it is to hold. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "store/copy.h"
#include "store/reader.h"
#include "test/unit/test-trace-scratch.h"

static char copy_path[160];

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	(void)ctx;
	(void)r;
	row->kind = DT_SITE_EVENT;
	row->values = 1;
}

static void put(struct dt_store *s, unsigned core, uint64_t ticks, uint64_t lost)
{
	struct dt_record r = {.ticks = ticks, .pc = 0x1000, .tid = 5, .kind = DT_EVENT, .flags = 1};
	struct dt_error e;

	r.value[0] = ticks;
	assert_int_equal(dt_store_put(s, core, &r, 1, lost, &e), 0);
}

/* "C:TICKS " of each record in the order of time, "-N " of a loss in front of one. */
static void read_all(const char *path, char *out)
{
	struct dt_reader_range range = {.values = true};
	struct dt_error e;
	struct dt_reader *r = dt_reader_open(path, &e);
	struct dt_span s;
	size_t n = 0;

	if (!r)
		fail_msg("%s", e.text);
	assert_int_equal(dt_reader_start(r, &range, &e), 0);
	out[0] = '\0';
	while (dt_reader_next(r, &s, &e) > 0) {
		if (s.lost)
			n += (size_t)sprintf(out + n, "-%lu ", (unsigned long)s.lost);
		for (uint32_t i = 0; i < s.n; i++) {
			assert_true(s.value[i][0] == s.ticks[i]);
			n += (size_t)sprintf(out + n, "%u:%lu ", s.core, (unsigned long)s.ticks[i]);
		}
	}
	dt_reader_close(r);
}

/* How many rows a table has there. */
static int64_t rows(const char *table)
{
	char sql[64];
	sqlite3_stmt *q;
	sqlite3 *db;
	int64_t n;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	assert_int_equal(sqlite3_open_v2(copy_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	n = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return n;
}

static struct dt_store *begin(void)
{
	struct dt_error e;
	struct dt_store *s = dt_store_create(trace_path, describe, NULL, &e);

	if (!s)
		fail_msg("%s", e.text);
	snprintf(copy_path, sizeof(copy_path), "%s/copy.db", scratch);
	return s;
}

/* The writer goes on meanwhile; what it has not flushed is not there. */
static void test_since(void **state)
{
	struct dt_store *s = begin();
	struct dt_error e;
	char text[4096];
	int64_t last;

	(void)state;
	put(s, 0, 100, 0);
	put(s, 0, 110, 3);
	put(s, 1, 105, 0);
	assert_int_equal(dt_store_held(s, &(struct dt_held_row){7, 101, 102, "room"}, &e), 0);
	assert_int_equal(dt_store_written(s, &(struct dt_written_row){0, "ring", 2, 3}, &e), 0);
	assert_int_equal(dt_store_flush(s, &e), 0);
	assert_int_equal(dt_copy_last_chunk(trace_path, &last, &e), 0);
	assert_true(last > 0);
	put(s, 0, 120, 7);
	put(s, 0, 130, 0);
	put(s, 0, 140, 9);
	put(s, 2, 125, 0); /* a core that was not there before */
	assert_int_equal(dt_store_flush(s, &e), 0);
	put(s, 0, 150, 0);
	assert_int_equal(dt_copy_since(trace_path, last, copy_path, &e), 0);
	read_all(copy_path, text);
	assert_string_equal(text, "-7 0:120 2:125 0:130 -9 0:140 ");
	/* of a part nobody has said how many were written; waits are in its calls' times */
	assert_int_equal(rows("written"), 0);
	assert_int_equal(rows("hold"), 1);
	unlink(copy_path);
	assert_int_equal(dt_copy_since(trace_path, 0, copy_path, &e), 0);
	read_all(copy_path, text);
	assert_string_equal(text, "0:100 1:105 -3 0:110 -7 0:120 2:125 0:130 -9 0:140 ");
	assert_int_equal(rows("written"), 1);
	unlink(copy_path);
	/* nothing new */
	assert_int_equal(dt_copy_last_chunk(trace_path, &last, &e), 0);
	assert_int_equal(dt_copy_since(trace_path, last, copy_path, &e), 0);
	read_all(copy_path, text);
	assert_string_equal(text, "");
	assert_int_equal(dt_store_close(s, &e), 0);
}

static void copy_to(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct dt_error e;

	assert_true(fd >= 0);
	if (dt_copy_trace(trace_path, fd, &e) < 0)
		fail_msg("%s", e.text);
	close(fd);
}

static void test_bytes(void **state)
{
	struct dt_store *s = begin();
	char text[4096], command[400];
	struct dt_error e;
	struct stat st;

	(void)state;
	put(s, 0, 100, 0);
	assert_int_equal(dt_store_flush(s, &e), 0);
	put(s, 0, 110, 0);
	copy_to(copy_path);
	read_all(copy_path, text);
	assert_string_equal(text, "0:100 ");
	/* one file, which needs nothing beside it */
	snprintf(command, sizeof(command), "%s-wal", copy_path);
	assert_int_not_equal(stat(command, &st), 0);
	assert_int_equal(dt_store_close(s, &e), 0);
	copy_to(copy_path);
	snprintf(command, sizeof(command), "cmp -s %s %s", copy_path, trace_path);
	assert_int_equal(system(command), 0);
	/* what is no trace, and what is not there */
	assert_int_equal(truncate(trace_path, 50), 0);
	assert_int_equal(dt_copy_trace(trace_path, 1, &e), -1);
	unlink(trace_path);
	assert_int_equal(dt_copy_trace(trace_path, 1, &e), -1);
	assert_int_equal(dt_copy_since(trace_path, 1, copy_path, &e), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_since), TEST(test_bytes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
