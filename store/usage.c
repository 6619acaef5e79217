/* SPDX-License-Identifier: MIT */
#include "store/usage.h"

#include <stdlib.h>

#include "store/reader-work.h"

#define MOST 16000000u /* rows that are read: 18 days of one process */

static bool add(struct dt_usages *u, sqlite3_stmt *q)
{
	if (u->n == u->room) {
		size_t room = u->room ? 2 * u->room : 256;
		struct dt_usage_row *row = realloc(u->row, room * sizeof(*row));

		if (!row)
			return false;
		u->row = row;
		u->room = room;
	}
	u->row[u->n++] = (struct dt_usage_row){.pid = (uint32_t)sqlite3_column_int64(q, 0),
					       .ticks = (uint64_t)sqlite3_column_int64(q, 1),
					       .memory = (uint64_t)sqlite3_column_int64(q, 2),
					       .cpu_ns = (uint64_t)sqlite3_column_int64(q, 3)};
	u->last = sqlite3_column_int64(q, 4);
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct dt_usage_row *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

int dt_usages_load(struct dt_usages *u, struct dt_reader *r, struct dt_error *e)
{
	static const char sql[] = "SELECT pid, ticks, memory, cpu_ns, rowid FROM used "
				  "WHERE rowid > ? AND ticks >= 0 ORDER BY rowid LIMIT ?";
	size_t had = u->n;
	sqlite3_stmt *q;
	int rc;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(q, 1, u->last);
	sqlite3_bind_int64(q, 2, MOST - (int64_t)u->n);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		if (!add(u, q)) {
			sqlite3_finalize(q);
			return dt_fail(e, "out of memory");
		}
	sqlite3_finalize(q);
	if (u->n > had)
		qsort(u->row, u->n, sizeof(*u->row), by_time);
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

void dt_usages_free(struct dt_usages *u)
{
	free(u->row);
	*u = (struct dt_usages){0};
}
