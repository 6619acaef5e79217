/* SPDX-License-Identifier: MIT */
/* Reading the sums that a session has made. */
#include "store/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader-work.h"

static uint64_t u64(sqlite3_stmt *q, int column)
{
	return (uint64_t)sqlite3_column_int64(q, column);
}

static const char *text_of(sqlite3_stmt *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q, column);

	return text ? text : "";
}

int dt_sums_read(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_sum_row *row), void *ctx,
		 struct dt_error *e)
{
	static const char sql[] = "SELECT sum, words, calls, others, missed FROM sum ORDER BY sum";
	sqlite3_stmt *q;
	int rc, stop = 0;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	while (!stop && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		struct dt_sum_row row = {(unsigned)sqlite3_column_int64(q, 0), text_of(q, 1),
					 u64(q, 2), u64(q, 3), u64(q, 4)};

		stop = fn(ctx, &row);
	}
	sqlite3_finalize(q);
	return stop ? stop : rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

static __int128 number_of(sqlite3_stmt *q, int column)
{
	const char *p;
	unsigned __int128 v = 0;
	bool negative;

	if (sqlite3_column_type(q, column) != SQLITE_TEXT)
		return sqlite3_column_int64(q, column);
	p = text_of(q, column);
	negative = *p == '-';
	for (p += negative; *p >= '0' && *p <= '9'; p++)
		v = 10 * v + (unsigned)(*p - '0');
	return (__int128)(negative ? -v : v);
}

/* Is it a floating-point number? SQLite has NULL for one that is no number, as the sum of infinite
 * ones may be. */
static bool is_real(sqlite3_stmt *q, int column)
{
	int type = sqlite3_column_type(q, column);

	return type == SQLITE_FLOAT || type == SQLITE_NULL;
}

static double real_of(sqlite3_stmt *q, int column)
{
	return sqlite3_column_type(q, column) == SQLITE_NULL ? (double)NAN
							     : sqlite3_column_double(q, column);
}

/* Reads "64:3 66:1". What is not understood is left out. */
static bool read_buckets(const char *p, uint64_t *bucket)
{
	memset(bucket, 0, DT_SUM_BUCKETS * sizeof(*bucket));
	while (*p) {
		char *end;
		unsigned long i = strtoul(p, &end, 10);

		if (end == p || *end != ':' || i >= DT_SUM_BUCKETS)
			return false;
		p = end + 1;
		bucket[i] = strtoull(p, &end, 10);
		if (end == p || (*end && *end != ' '))
			return false;
		p = end + (*end == ' ');
	}
	return true;
}

int dt_sums_read_lines(struct dt_reader *r, unsigned sum,
		       int (*fn)(void *ctx, const struct dt_sum_line *line), void *ctx,
		       struct dt_error *e)
{
	static const char sql[] = "SELECT row, function, calls, unknown, total, least, greatest, "
				  "key, buckets FROM sum_line WHERE sum=? ORDER BY row";
	uint64_t bucket[DT_SUM_BUCKETS];
	sqlite3_stmt *q;
	int rc, stop = 0;

	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(q, 1, sum);
	while (!stop && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		struct dt_sum_line line = {.sum = sum,
					   .row = (uint32_t)sqlite3_column_int64(q, 0),
					   .function = (uint32_t)sqlite3_column_int64(q, 1),
					   .calls = u64(q, 2),
					   .unknown = u64(q, 3),
					   .real = is_real(q, 4),
					   .key = sqlite3_column_blob(q, 7),
					   .key_n = (size_t)sqlite3_column_bytes(q, 7)};

		for (int i = 0; i < 3; i++) {
			line.number[i] = line.real ? 0 : number_of(q, 4 + i);
			line.floating[i] = real_of(q, 4 + i);
		}
		if (sqlite3_column_type(q, 8) == SQLITE_TEXT) {
			if (!read_buckets(text_of(q, 8), bucket)) {
				stop = dt_fail(e, "%s: damaged: buckets of a sum", r->path);
				break;
			}
			line.bucket = bucket;
		}
		stop = fn(ctx, &line);
	}
	sqlite3_finalize(q);
	return stop ? stop : rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}
