/* SPDX-License-Identifier: MIT */
/* Writing the sums that a session makes. */
#include "store/store-work.h"
#include "store/sums.h"

int dt_store_sum(struct dt_store *s, const struct dt_sum_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[SUM];

	if (dt_store_begin(s, e))
		return -1;
	if (row->calls)
		s->has_records = true; /* there were some: the trace takes the place of an older one
					*/
	sqlite3_bind_int64(t, 1, row->sum);
	dt_store_bind_text(t, 2, row->words);
	dt_store_bind_u64(t, 3, row->calls);
	dt_store_bind_u64(t, 4, row->others);
	dt_store_bind_u64(t, 5, row->missed);
	return dt_store_run(s, SUM, e);
}

/* Writes a number of up to 128 bits as SQLite has it: larger ones as text, digit by digit. */
static void bind_number(sqlite3_stmt *t, int column, __int128 v)
{
	char text[48], *p = text + sizeof(text);
	unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;

	if (v >= INT64_MIN && v <= INT64_MAX) {
		sqlite3_bind_int64(t, column, (int64_t)v);
		return;
	}
	do
		*--p = (char)('0' + rest % 10);
	while (rest /= 10);
	if (v < 0)
		*--p = '-';
	sqlite3_bind_text(t, column, p, (int)(text + sizeof(text) - p), SQLITE_TRANSIENT);
}

/* Writes those buckets that are not empty: "64:3 66:1". */
static void bind_buckets(sqlite3_stmt *t, int column, const uint64_t *bucket)
{
	char text[DT_SUM_BUCKETS * 26];
	size_t n = 0;

	for (unsigned i = 0; i < DT_SUM_BUCKETS; i++)
		if (bucket[i])
			n += dt_format(text + n, sizeof(text) - n, "%s%u:%lu", n ? " " : "", i,
				       (unsigned long)bucket[i]);
	sqlite3_bind_text(t, column, text, (int)n, SQLITE_TRANSIENT);
}

int dt_store_sum_line(struct dt_store *s, const struct dt_sum_line *line, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[SUM_LINE];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, line->sum);
	sqlite3_bind_int64(t, 2, line->row);
	sqlite3_bind_int64(t, 3, line->function);
	dt_store_bind_u64(t, 4, line->calls);
	dt_store_bind_u64(t, 5, line->unknown);
	for (int i = 0; i < 3; i++)
		if (line->real)
			sqlite3_bind_double(t, 6 + i, line->floating[i]);
		else
			bind_number(t, 6 + i, line->number[i]);
	sqlite3_bind_blob(t, 9, line->key_n ? line->key : "", (int)line->key_n, SQLITE_STATIC);
	if (line->bucket)
		bind_buckets(t, 10, line->bucket);
	else
		sqlite3_bind_null(t, 10);
	return dt_store_run(s, SUM_LINE, e);
}

int dt_store_sums_forget(struct dt_store *s, struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	if (sqlite3_exec(s->db, "DELETE FROM sum; DELETE FROM sum_line", NULL, NULL, NULL))
		return dt_store_fail(s, e);
	return 0;
}
