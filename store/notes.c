/* SPDX-License-Identifier: MIT */
/* Notes in a trace file. */
#include "store/notes.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "store/journal.h"
#include "store/reader-work.h"

#define BUSY_MS 2000

int dt_notes_read(struct dt_reader *r, void (*fn)(void *ctx, const struct dt_note *n), void *ctx,
		  struct dt_error *e)
{
	sqlite3_stmt *q = NULL;
	int rc;

	if (sqlite3_prepare_v2(r->db,
			       "SELECT id, begin_ticks, end_ticks, substr(text, 1, ?1) FROM note "
			       "ORDER BY begin_ticks, id LIMIT ?2",
			       -1, &q, NULL))
		return 0;
	sqlite3_bind_int(q, 1, DT_NOTE_BYTES);
	sqlite3_bind_int(q, 2, DT_NOTES_MOST);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(q, 3);
		struct dt_note n = {.id = sqlite3_column_int64(q, 0),
				    .begin = (uint64_t)sqlite3_column_int64(q, 1),
				    .end = (uint64_t)sqlite3_column_int64(q, 2),
				    .text = text ? text : ""};

		fn(ctx, &n);
	}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : dt_fail(e, "notes: %s", sqlite3_errmsg(r->db));
}

/* Opens the file for writing, in a transaction. Whoever made it may have put triggers in. */
static sqlite3 *begin(const char *path, struct dt_error *e)
{
	sqlite3 *db = NULL;

	if (access(path, W_OK) < 0) {
		dt_fail(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (!sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			     dt_journal_vfs())) {
		sqlite3_busy_timeout(db, BUSY_MS);
		sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
		sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
		if (!sqlite3_exec(db,
				  "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS note(id INTEGER "
				  "PRIMARY KEY, begin_ticks INTEGER, end_ticks INTEGER, text TEXT)",
				  NULL, NULL, NULL))
			return db;
	}
	dt_fail(e, "%s: the note is not kept: %s", path, sqlite3_errmsg(db));
	sqlite3_close(db);
	return NULL;
}

/* Ends the transaction, and closes the file; rc: of the statement. */
static int end(sqlite3 *db, const char *path, int rc, struct dt_error *e)
{
	if (rc == SQLITE_DONE)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc)
		dt_fail(e, "%s: the note is not kept: %s", path, sqlite3_errmsg(db));
	sqlite3_close(db); /* what was not committed is dropped */
	return rc ? -1 : 0;
}

static bool is_full(sqlite3 *db)
{
	sqlite3_stmt *q = NULL;
	bool full = sqlite3_prepare_v2(db, "SELECT count(*) >= ?1 FROM note", -1, &q, NULL) ==
			    SQLITE_OK &&
		    sqlite3_bind_int(q, 1, DT_NOTES_MOST) == SQLITE_OK &&
		    sqlite3_step(q) == SQLITE_ROW && sqlite3_column_int(q, 0);

	sqlite3_finalize(q);
	return full;
}

int dt_notes_put(const char *path, const struct dt_note *n, struct dt_error *e)
{
	sqlite3 *db = begin(path, e);
	sqlite3_stmt *q = NULL;
	int rc;

	if (!db)
		return -1;
	if (!n->id && is_full(db)) {
		sqlite3_close(db);
		return dt_fail(e, "there are %d notes: no more are kept", DT_NOTES_MOST);
	}
	rc = sqlite3_prepare_v2(
		db,
		n->id ? "UPDATE note SET begin_ticks = ?1, end_ticks = ?2, text = ?3 WHERE id = ?4"
		      : "INSERT INTO note(begin_ticks, end_ticks, text) VALUES(?1, ?2, ?3)",
		-1, &q, NULL);
	if (!rc) {
		sqlite3_bind_int64(q, 1, (int64_t)n->begin);
		sqlite3_bind_int64(q, 2, (int64_t)n->end);
		sqlite3_bind_text(q, 3, n->text, -1, SQLITE_STATIC);
		if (n->id)
			sqlite3_bind_int64(q, 4, n->id);
		rc = sqlite3_step(q);
	}
	sqlite3_finalize(q);
	return end(db, path, rc, e);
}

int dt_notes_remove(const char *path, int64_t id, struct dt_error *e)
{
	sqlite3 *db = begin(path, e);
	sqlite3_stmt *q = NULL;
	int rc;

	if (!db)
		return -1;
	rc = sqlite3_prepare_v2(db, "DELETE FROM note WHERE id = ?1", -1, &q, NULL);
	if (!rc) {
		sqlite3_bind_int64(q, 1, id);
		rc = sqlite3_step(q);
	}
	sqlite3_finalize(q);
	return end(db, path, rc, e);
}
