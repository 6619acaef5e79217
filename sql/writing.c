/* SPDX-License-Identifier: MIT */
/* Which writing is allowed: to activities, and to what belongs to nobody else (temporary tables,
 * attached files). */
#include "sql/writing.h"

#include <string.h>
#include <sys/stat.h>

#include "store/journal.h"
#include "store/reader.h"

#define BUSY_MS 10000

/* There is no index: readers take a file with foreign ones for damaged. */
static const char create[] = "CREATE TABLE main.activities("
			     " id INTEGER PRIMARY KEY,"
			     " name TEXT NOT NULL,"
			     " begin INTEGER NOT NULL,"
			     " end INTEGER NOT NULL CHECK(end >= begin),"
			     " thread INTEGER,"
			     " core INTEGER,"
			     " key,"
			     " text TEXT,"
			     " duration INTEGER GENERATED ALWAYS AS (end - begin) VIRTUAL)";

static bool is_activities(const char *table)
{
	return table && !sqlite3_stricmp(table, "activities");
}

/* Returns whether a path is, or may be, the trace, by whatever name. */
static bool is_trace(const struct dt_sql_session *g, const char *path)
{
	struct stat st;

	/* a path that is known only at run time; the empty one, of VACUUM; or a URI, whose meaning
	 * is not examined */
	if (!path || !*path || !strncmp(path, "file:", 5))
		return true;
	return stat(path, &st) == 0 && st.st_dev == g->device && st.st_ino == g->inode;
}

/* Returns whether a setting only shows something, or affects only this connection. */
static bool may_set(const char *name, const char *value)
{
	static const char *const own[] = {
		"cache_size",	   "temp_store", "foreign_keys", "case_sensitive_like",
		"automatic_index", "mmap_size",	 "table_info",	 "table_xinfo",
		"table_list",	   "index_list", "index_info",	 "integrity_check",
		"quick_check"};

	if (!value)
		return sqlite3_stricmp(name, "wal_checkpoint") &&
		       sqlite3_stricmp(name, "optimize") &&
		       sqlite3_stricmp(name, "incremental_vacuum");
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!sqlite3_stricmp(name, own[i]))
			return true;
	return false;
}

/* Checks a change to the rows of a table. */
static int may_write(struct dt_sql_session *g, const char *table, const char *database)
{
	if (!database || sqlite3_stricmp(database, "main"))
		return SQLITE_OK;
	g->writes |= is_activities(table);
	/* the schema may be changed: what that creates or drops is checked separately */
	return is_activities(table) || (table && !sqlite3_strnicmp(table, "sqlite_", 7))
		       ? SQLITE_OK
		       : SQLITE_DENY;
}

static int may(void *ctx, int action, const char *a, const char *b, const char *database,
	       const char *trigger)
{
	struct dt_sql_session *g = ctx;
	bool main = database && !sqlite3_stricmp(database, "main");

	switch (action) {
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
	case SQLITE_DELETE:
		return may_write(g, a, database);
	case SQLITE_CREATE_TABLE:
		return main && !(g->creating && is_activities(a)) ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_DROP_TABLE:
		return main ? may_write(g, a, database) : SQLITE_OK;
	case SQLITE_CREATE_INDEX:
	case SQLITE_CREATE_VIEW:
	case SQLITE_CREATE_TRIGGER:
	case SQLITE_CREATE_VTABLE:
	case SQLITE_DROP_INDEX:
	case SQLITE_DROP_VIEW:
	case SQLITE_DROP_TRIGGER:
	case SQLITE_DROP_VTABLE:
	case SQLITE_ANALYZE:
	case SQLITE_REINDEX:
		return main ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_ALTER_TABLE: /* for this action, the database is the first argument */
		return a && !sqlite3_stricmp(a, "main") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return may_set(a, b) ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_ATTACH:
		return is_trace(g, a) ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_OK;
	}
}

int dt_sql_open(struct dt_sql_session *s, const char *path, bool write, struct dt_error *e)
{
	struct dt_reader *r = dt_reader_open(path, e);
	struct stat st = {0};

	*s = (struct dt_sql_session){0};
	/* the reader says better than SQLite what is wrong with a file */
	if (!r)
		return -1;
	dt_reader_close(r);
	stat(path, &st);
	s->device = st.st_dev;
	s->inode = st.st_ino;
	/* CREATE is for files that are attached; this one exists */
	if (sqlite3_open_v2(path, &s->db,
			    write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
				  : SQLITE_OPEN_READONLY,
			    dt_journal_vfs()))
		return dt_fail(e, "%s: %s", path, sqlite3_errmsg(s->db));
	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* rows that are written stay in memory until the statement is over: if SQLite put them into
	 * the file before, it would lock out the readers of the trace for the same statement */
	sqlite3_exec(s->db, "PRAGMA cell_size_check=ON; PRAGMA cache_spill=OFF", NULL, NULL, NULL);
	s->sql = dt_sql_add(s->db, path, true, e);
	if (!s->sql)
		return -1;
	sqlite3_set_authorizer(s->db, may, s);
	return 0;
}

void dt_sql_close(struct dt_sql_session *s)
{
	sqlite3_close(s->db);
}

static bool has_log(sqlite3 *db)
{
	sqlite3_stmt *q = NULL;
	bool has = sqlite3_prepare_v2(db, "PRAGMA main.journal_mode", -1, &q, NULL) == SQLITE_OK &&
		   sqlite3_step(q) == SQLITE_ROW &&
		   !strcmp((const char *)sqlite3_column_text(q, 0), "wal");

	sqlite3_finalize(q);
	return has;
}

/*
 * Returns whether the trace is being recorded: then it must not be written to, because a recorder
 * that could not write for as long as a query takes would fail. A recorder has the trace open with
 * a log. One that was killed also leaves a log, but then nobody prevents the log from being ended.
 */
static bool is_recorded(struct dt_sql_session *s)
{
	bool is;

	if (!has_log(s->db))
		return false;
	dt_sql_close_files(s->sql);
	sqlite3_set_authorizer(s->db, NULL, NULL);
	sqlite3_busy_timeout(s->db, 0);
	sqlite3_exec(s->db, "PRAGMA main.journal_mode=DELETE", NULL, NULL, NULL);
	is = has_log(s->db);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_set_authorizer(s->db, may, s);
	dt_sql_open_files(s->sql, NULL);
	return is;
}

static int prepare(struct dt_sql_session *s, const char *text, sqlite3_stmt **out,
		   const char **rest)
{
	int rc = sqlite3_prepare_v2(s->db, text, -1, out, rest);

	/* the table of that name is the virtual one, for files that have none */
	if (rc != SQLITE_ERROR || !strstr(sqlite3_errmsg(s->db), "activities may not be modified"))
		return rc;
	if (is_recorded(s)) {
		s->refused = true;
		return SQLITE_BUSY;
	}
	s->creating = true;
	sqlite3_exec(s->db, create, NULL, NULL, NULL);
	s->creating = false;
	return sqlite3_prepare_v2(s->db, text, -1, out, rest);
}

int dt_sql_prepare(struct dt_sql_session *s, const char *text, sqlite3_stmt **out,
		   const char **rest)
{
	int rc;

	s->writes = s->refused = false;
	rc = prepare(s, text, out, rest);
	if (rc != SQLITE_OK || !s->writes)
		return rc;
	sqlite3_finalize(*out);
	*out = NULL;
	if (is_recorded(s)) {
		s->refused = true;
		return SQLITE_BUSY;
	}
	return sqlite3_prepare_v2(s->db, text, -1, out, rest);
}
