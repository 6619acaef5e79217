/* SPDX-License-Identifier: MIT */
/*
 * A trace's records as tables of SQLite: records, calls, events, messages, switches, lost, threads,
 * processes, functions. They are virtual tables: rows are made from the trace file as a query asks
 * for them, so that memory does not depend on its length. doc/sql.md has their columns.
 *
 * A table gets the trace it is of as an argument, devtrace_calls('t.db'), and as that of CREATE
 * VIRTUAL TABLE; without one it is of the default's.
 */
#ifndef DT_SQL_SQL_H
#define DT_SQL_SQL_H

#include <sqlite3.h>

#include "core/error.h"

struct dt_sql;

/*
 * Adds the tables to db, by the names devtrace_calls..., and with a default, a trace file, also by
 * calls... . The connection owns what it gets; it ends with it. Only one thread at a time may use
 * the connection. in_views: tables may be used in views of a schema that is not trusted. NULL: *e
 * says why.
 */
struct dt_sql *dt_sql_add(sqlite3 *db, const char *default_path, bool in_views, struct dt_error *e);

/* Has a query for a part of a long trace begun at the trace's beginning, because there is no
 * pyramid in the file? */
bool dt_sql_wants_index(const struct dt_sql *s);

/* Closes the traces that are open, when no query is running; and opens the default's again. While
 * they are closed, nothing here is a reader of them. */
void dt_sql_close_files(struct dt_sql *s);
int dt_sql_open_files(struct dt_sql *s, struct dt_error *e);

#endif
