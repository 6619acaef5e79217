/* SPDX-License-Identifier: MIT */
/* Reading activities. */
#include "store/activities.h"

#include <sqlite3.h>

#include "store/reader-work.h"

#define MOST 20000 /* most rows of one answer */

/* Prepares a statement; NULL if the table is not there, or has other columns, since the user makes
 * it. */
static sqlite3_stmt *prepare(struct dt_reader *r, const char *sql)
{
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(
		    r->db, "SELECT id, name, begin, end, thread, core, key, text FROM activities",
		    -1, &q, NULL))
		return NULL;
	sqlite3_finalize(q);
	return sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) ? NULL : q;
}

static const char *text(sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);

	return s ? s : "";
}

/* The SQL function dt_wanted(thread, core, length): calls dt_activity_want.fn. */
static void wanted(sqlite3_context *to, int n, sqlite3_value **v)
{
	const struct dt_activity_want *want = sqlite3_user_data(to);
	int64_t value[3];

	for (int i = 0; i < n; i++)
		value[i] = sqlite3_value_type(v[i]) == SQLITE_NULL ? -1 : sqlite3_value_int64(v[i]);
	sqlite3_result_int(to, !want || want->fn(want->ctx, value[0], value[1], value[2]));
}

int dt_reader_activities(struct dt_reader *r, const struct dt_activity_want *want, int64_t from,
			 int64_t to, int64_t cell,
			 void (*fn)(void *ctx, const struct dt_activity *a), void *ctx, bool *more,
			 struct dt_error *e)
{
	bool known =
		sqlite3_create_function(r->db, "dt_wanted", 3, SQLITE_UTF8, (void *)(uintptr_t)want,
					wanted, NULL, NULL) == SQLITE_OK;
	sqlite3_stmt *q =
		!known ? NULL
		       : prepare(r, "SELECT name, begin, end, ifnull(thread, -1), key, text, 1, "
				    "end - begin FROM "
				    "activities "
				    "WHERE end >= ?1 AND begin <= ?2 AND end - begin >= ?3 "
				    "AND dt_wanted(thread, core, end - begin) "
				    "UNION ALL "
				    "SELECT name, min(begin), max(end), min(ifnull(thread, -1)), "
				    "min(key), "
				    "min(text), count(*), "
				    "sum(end - begin) FROM activities "
				    "WHERE end >= ?1 AND begin <= ?2 AND end - begin < ?3 "
				    "AND dt_wanted(thread, core, end - begin) GROUP BY name, begin "
				    "/ ?3 "
				    "ORDER BY 1, 2, 3 LIMIT ?4");
	uint64_t n = 0;
	int rc = SQLITE_DONE;

	*more = false;
	if (!known)
		return dt_reader_sql_error(r, e);
	if (!q)
		return 0;
	sqlite3_bind_int64(q, 1, from);
	sqlite3_bind_int64(q, 2, to);
	sqlite3_bind_int64(q, 3, cell > 0 ? cell : 1);
	sqlite3_bind_int64(q, 4, MOST + 1);
	while (!*more && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		*more = n++ == MOST;
		if (!*more)
			fn(ctx,
			   &(struct dt_activity){.name = text(q, 0),
						 .begin = sqlite3_column_int64(q, 1),
						 .end = sqlite3_column_int64(q, 2),
						 .thread = sqlite3_column_int64(q, 3),
						 .key = text(q, 4),
						 .text = text(q, 5),
						 .count = (uint64_t)sqlite3_column_int64(q, 6),
						 .busy = (uint64_t)sqlite3_column_int64(q, 7)});
	}
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		rc = dt_reader_sql_error(r, e);
	sqlite3_finalize(q);
	return rc < 0 ? -1 : 0;
}

int dt_reader_activity_names(struct dt_reader *r,
			     void (*fn)(void *ctx, const char *name, uint64_t n), void *ctx,
			     struct dt_error *e)
{
	sqlite3_stmt *q =
		prepare(r, "SELECT name, count(*) FROM activities GROUP BY name ORDER BY name");
	int rc = SQLITE_DONE;

	if (!q)
		return 0;
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		fn(ctx, text(q, 0), (uint64_t)sqlite3_column_int64(q, 1));
	if (rc != SQLITE_DONE)
		rc = dt_reader_sql_error(r, e);
	sqlite3_finalize(q);
	return rc < 0 ? -1 : 0;
}
