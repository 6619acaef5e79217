/* SPDX-License-Identifier: MIT */
/* Adding the names of events to a trace file. */
#include <sqlite3.h>
#include "store/journal.h"
#include "store/layout.h"
#include "store/reader.h"

#define BUSY_MS 5000 /* its writer may hold the file for so long */

static int insert(sqlite3 *db, const struct dt_event_row *row, size_t n)
{
	sqlite3_stmt *t;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO event VALUES(?,?,?,?,?)", -1, &t, NULL);

	for (size_t i = 0; !rc && i < n; i++) {
		sqlite3_bind_int64(t, 1, row[i].subsystem);
		sqlite3_bind_int64(t, 2, row[i].event);
		sqlite3_bind_text(t, 3, row[i].subsystem_name, -1, SQLITE_STATIC);
		sqlite3_bind_text(t, 4, row[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_text(t, 5, row[i].description, -1, SQLITE_STATIC);
		rc = sqlite3_step(t) == SQLITE_DONE ? sqlite3_reset(t) : sqlite3_errcode(db);
	}
	sqlite3_finalize(t);
	return rc;
}

int dt_store_name_events(const char *path, const struct dt_event_row *row, size_t n,
			 struct dt_error *e)
{
	/* the reader says better than SQLite what is wrong with a file that is no trace */
	struct dt_reader *r = dt_reader_open(path, e);
	sqlite3 *db = NULL;
	int rc;

	if (!r)
		return -1;
	dt_reader_close(r);
	rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			     dt_journal_vfs());
	if (!rc) {
		sqlite3_busy_timeout(db, BUSY_MS);
		sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		rc = sqlite3_exec(db,
				  "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS "
				  "event(" DT_EVENT_COLUMNS ")",
				  NULL, NULL, NULL);
	}
	if (!rc)
		rc = insert(db, row, n);
	if (!rc)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc)
		dt_fail(e, "%s: cannot add names: %s", path, sqlite3_errmsg(db));
	sqlite3_close(db); /* what was not committed is dropped */
	return rc ? -1 : 0;
}
