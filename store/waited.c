/* SPDX-License-Identifier: MIT */
/* Reading what threads waited for. */
#include "store/waited.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "store/reader-work.h"

#define MOST 4000000u /* rows that are read: the rest waited for what is not known */

static bool add(struct dt_waited *w, size_t *room, sqlite3_stmt *q)
{
	const char *text = (const char *)sqlite3_column_text(q, 3);
	struct dt_waited_row *row = w->row;

	if (w->n == *room) {
		*room = *room ? 2 * *room : 256;
		row = realloc(w->row, *room * sizeof(*row));
		if (!row)
			return false;
		w->row = row;
	}
	row[w->n] = (struct dt_waited_row){
		(uint32_t)sqlite3_column_int64(q, 0), (uint64_t)sqlite3_column_int64(q, 1),
		(uint64_t)sqlite3_column_int64(q, 2), text ? strndup(text, 512) : strdup("")};
	return row[w->n].text && ++w->n;
}

int dt_waited_load(struct dt_waited *w, struct dt_reader *r, struct dt_error *e)
{
	static const char sql[] = "SELECT tid, begin_ticks, end_ticks, what FROM waited ORDER BY "
				  "tid, begin_ticks LIMIT ?";
	size_t room = 0;
	sqlite3_stmt *q;
	int rc;

	w->loaded = true;
	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(q, 1, MOST);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		if (!add(w, &room, q)) {
			sqlite3_finalize(q);
			return dt_fail(e, "out of memory");
		}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

void dt_waited_free(struct dt_waited *w)
{
	for (size_t i = 0; i < w->n; i++)
		free((char *)(uintptr_t)w->row[i].text);
	free(w->row);
	*w = (struct dt_waited){0};
}

uint32_t dt_waited_between(const struct dt_waited *w, uint32_t tid, uint64_t begin, uint64_t end)
{
	/* those that begin at `end' at the latest */
	size_t i = dt_count_before(
		w->n, k, w->row[k].tid < tid || (w->row[k].tid == tid && w->row[k].begin <= end));

	while (i-- && w->row[i].tid == tid && w->row[i].begin >= begin)
		if (w->row[i].end <= end)
			return (uint32_t)i + 1;
	return 0;
}
