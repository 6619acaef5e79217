/* SPDX-License-Identifier: MIT */
/* Reading what a session has left out of its trace by a filter. */
#include "store/left-out.h"

#include "store/reader-work.h"

static uint64_t u64(sqlite3_stmt *q, int column)
{
	return (uint64_t)sqlite3_column_int64(q, column);
}

int dt_left_out_read(struct dt_reader *r, void (*fn)(void *ctx, const struct dt_left_out_row *row),
		     void *ctx, struct dt_error *e)
{
	static const char sql[] =
		"SELECT function, calls, untimed, total, self, min, max FROM left_out";
	sqlite3_stmt *q;
	int rc;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		struct dt_left_out_row row = {(uint32_t)sqlite3_column_int64(q, 0),
					      u64(q, 1),
					      u64(q, 2),
					      u64(q, 3),
					      u64(q, 4),
					      u64(q, 5),
					      u64(q, 6)};

		fn(ctx, &row);
	}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

/* Adds up the calls of a row. */
static void add(void *ctx, const struct dt_left_out_row *row)
{
	uint64_t *sum = ctx;

	sum[0] += row->calls + row->untimed;
	sum[1]++;
}

uint64_t dt_left_out_calls(struct dt_reader *r, uint64_t *functions)
{
	uint64_t sum[2] = {0, 0};

	dt_left_out_read(r, add, sum, NULL);
	if (functions)
		*functions = sum[1];
	return sum[0];
}

void dt_left_out_words(struct dt_reader *r, char *out, size_t size)
{
	static const char sql[] = "SELECT value FROM meta WHERE key='filter'";
	const char *text = NULL;
	sqlite3_stmt *q;

	out[0] = '\0';
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return;
	if (sqlite3_step(q) == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(q, 0);
	dt_format(out, size, "%s", text ? text : "");
	sqlite3_finalize(q);
}
