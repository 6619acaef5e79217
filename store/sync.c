/* SPDX-License-Identifier: MIT */
/* Reading the table sync. */
#include "store/sync.h"

#include <stdlib.h>
#include <string.h>

#include "store/reader-work.h"

#define MOST	4000000u /* rows; a file with more is not a session's */
#define LONGEST 128	 /* bytes of an id */

static bool add(struct dt_sync *s, size_t *room, sqlite3_stmt *q)
{
	const char *kind = (const char *)sqlite3_column_text(q, 0);
	const char *id = (const char *)sqlite3_column_text(q, 1);
	struct dt_sync_row *row = s->row;

	if (s->n == *room) {
		*room = *room ? 2 * *room : 64;
		row = realloc(row, *room * sizeof(*row));
		if (!row)
			return false;
		s->row = row;
	}
	row += s->n;
	*row = (struct dt_sync_row){
		strndup(kind ? kind : "", LONGEST),   strndup(id ? id : "", LONGEST),
		(uint64_t)sqlite3_column_int64(q, 2), (uint64_t)sqlite3_column_int64(q, 3),
		sqlite3_column_int64(q, 4),	      sqlite3_column_int64(q, 5)};
	s->n++;
	return row->kind && row->id;
}

int dt_sync_load(struct dt_sync *s, struct dt_reader *r, struct dt_error *e)
{
	static const char sql[] =
		"SELECT kind, id, begin_ticks, end_ticks, ns, ifnull(bound_ns, -1) "
		"FROM sync ORDER BY rowid LIMIT ?";
	size_t room = 0;
	sqlite3_stmt *q;
	int rc;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(q, 1, MOST);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		if (!add(s, &room, q)) {
			sqlite3_finalize(q);
			return dt_fail(e, "out of memory");
		}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

void dt_sync_free(struct dt_sync *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free((char *)(uintptr_t)s->row[i].kind);
		free((char *)(uintptr_t)s->row[i].id);
	}
	free(s->row);
	*s = (struct dt_sync){0};
}
