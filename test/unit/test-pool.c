/* SPDX-License-Identifier: MIT */
/* store/pool.c: a store with any number of threads writes the chunks that one thread writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "store/pool.h"
#include "store/store.h"
#include "test/unit/test-trace-scratch.h"

#define CORES 64
#define BATCH 1000

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	(void)ctx;
	(void)r;
	row->kind = DT_SITE_ENTRY;
}

/* Puts records of 64 made-up rings; some cores have ten times as many as others. every: rounds
 * between flushes, which a recorder makes without the lock first; lose: losses are noted. */
static struct dt_pool_counts write_trace(unsigned threads, unsigned rounds, unsigned every,
					 bool lose)
{
	struct dt_error e;
	struct dt_store *s = dt_store_create(trace_path, describe, NULL, &e);
	struct dt_record *r = calloc(BATCH, sizeof(*r));
	uint64_t seed = 1, ticks = 1;
	struct dt_pool_counts counts;

	assert_non_null(s);
	assert_int_equal(dt_store_threads(s, threads, &e), 0);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned core = 0; core < CORES; core += core < 8 || i % 10 == 0 ? 1 : 8) {
			for (unsigned k = 0; k < BATCH; k++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				r[k] = (struct dt_record){.ticks = ticks += 3,
							  .pc = 0x1000 + (seed >> 57) * 16,
							  .sp = 0x7000 + (seed >> 50 & 7) * 64,
							  .tid = 100 + core,
							  .kind = DT_ENTRY,
							  .core = (uint16_t)core,
							  .value = {seed >> 40, i, k, core}};
			}
			dt_store_help(s);
			if (dt_store_put(s, core, r, BATCH, lose && i % 7 == 3 ? core : 0, &e))
				fail_msg("%s", e.text);
		}
		if (every && i % every == every - 1) {
			while (dt_store_begin_flush(s))
				dt_store_help(s);
			dt_store_finish(s);
			assert_int_equal(dt_store_flush(s, &e), 0);
		}
	}
	counts = dt_store_pool_counts(s);
	assert_int_equal(dt_store_close(s, &e), 0);
	free(r);
	return counts;
}

/* Returns a sum over all rows of chunks and losses, bytes and numbers, in their order. */
static uint64_t digest(uint64_t *chunks)
{
	static const char *const query[] = {"SELECT * FROM chunk ORDER BY id",
					    "SELECT * FROM loss ORDER BY core, after"};
	uint64_t sum = 14695981039346656037u;
	sqlite3_stmt *q;
	sqlite3 *db;

	*chunks = 0;
	assert_int_equal(sqlite3_open(trace_path, &db), SQLITE_OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sqlite3_prepare_v2(db, query[i], -1, &q, NULL), SQLITE_OK);
		while (sqlite3_step(q) == SQLITE_ROW) {
			*chunks += i == 0;
			for (int c = 0; c < sqlite3_column_count(q); c++) {
				const uint8_t *p = sqlite3_column_blob(q, c);

				for (int n = sqlite3_column_bytes(q, c); n--; p++)
					sum = (sum ^ *p) * 1099511628211u;
			}
		}
		sqlite3_finalize(q);
	}
	sqlite3_close(db);
	return sum;
}

/* What a store with one thread, which does everything itself, has written is the oracle. */
static void test_same_chunks(void **state)
{
	static const unsigned threads[] = {2, 3, 8, DT_POOL_MOST};
	struct dt_pool_counts c;
	uint64_t want, chunks, got;

	(void)state;
	write_trace(1, 150, 40, false);
	want = digest(&chunks);
	assert_true(chunks > 64);
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		c = write_trace(threads[i], 150, 40, false);
		assert_true(digest(&got) == want);
		assert_true(got == chunks);
		assert_true(c.most > 0 && c.most < threads[i]);
		/* 64 rings: nobody waits for another's lock but for moments */
		print_message(
			"%u threads: %lu chunks, %lu helped, %lu waits, lock taken %lu times\n",
			threads[i], (unsigned long)c.chunks, (unsigned long)c.helped,
			(unsigned long)c.waits, (unsigned long)c.contended);
		assert_true(c.contended <= c.chunks);
	}
}

/* Where nothing is flushed meanwhile, losses are between the same records. */
static void test_losses(void **state)
{
	uint64_t want, chunks;

	(void)state;
	write_trace(2, 60, 7, true);
	want = digest(&chunks);
	write_trace(5, 60, 7, true);
	assert_true(digest(&chunks) == want);
}

/* A recorder that has little to do begins no thread. */
static void test_idle(void **state)
{
	struct dt_pool_counts c;

	(void)state;
	c = write_trace(8, 6, 2, false);
	assert_true(c.chunks > 0);
	assert_int_equal(c.helped, c.chunks);
	assert_int_equal(c.most, 0);
}

/* A store that is given up while threads are at work. */
static void test_given_up(void **state)
{
	struct dt_record *r = calloc(DT_CHUNK_MAX, sizeof(*r));
	struct dt_error e;

	(void)state;
	for (unsigned i = 0; i < DT_CHUNK_MAX; i++)
		r[i] = (struct dt_record){.ticks = i + 1, .pc = 16, .tid = 7, .kind = DT_ENTRY};
	for (int n = 0; n < 5; n++) {
		struct dt_store *s = dt_store_create(trace_path, describe, NULL, &e);

		assert_int_equal(dt_store_threads(s, 4, &e), 0);
		for (unsigned core = 0; core < 6; core++)
			assert_int_equal(dt_store_put(s, core, r, DT_CHUNK_MAX, 0, &e), 0);
		dt_store_discard(s);
	}
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_chunks),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_given_up),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
