/* SPDX-License-Identifier: MIT */
/* The tables as a loadable extension of SQLite: only in libdevtrace-sqlite.so. */
#include "sql/host.h"

#include "sql/sql.h"

SQLITE_EXTENSION_INIT1

#define OLDEST 3038000 /* the oldest SQLite that has all functions that are called */

int sqlite3_devtracesqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

static bool is_trace(sqlite3 *db)
{
	sqlite3_stmt *q = NULL;
	bool is = sqlite3_prepare_v2(db, "PRAGMA main.application_id", -1, &q, NULL) == SQLITE_OK &&
		  sqlite3_step(q) == SQLITE_ROW && sqlite3_column_int64(q, 0) == 0x64747263;

	sqlite3_finalize(q);
	return is;
}

__attribute__((visibility("default"))) int
sqlite3_devtracesqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	const char *path;
	struct dt_error e = {""};

	SQLITE_EXTENSION_INIT2(api);
	if (sqlite3_libversion_number() < OLDEST) {
		*error = sqlite3_mprintf("devtrace's tables need SQLite 3.38 or later; this is %s",
					 sqlite3_libversion());
		return SQLITE_ERROR;
	}
	path = is_trace(db) ? sqlite3_db_filename(db, "main") : NULL;
	if (dt_sql_add(db, path && *path ? path : NULL, false, &e))
		return SQLITE_OK;
	*error = sqlite3_mprintf("%s", e.text);
	return SQLITE_ERROR;
}
