/* SPDX-License-Identifier: MIT */
/*
 * A trace's records as tables of SQLite: records, calls, events, messages, switches, lost, threads,
 * processes, functions and others. They are virtual tables: rows are made from the trace file when
 * a query asks for them, so the memory does not depend on its length. doc/sql.md describes their
 * columns.
 *
 * A table is of the trace that is its argument, devtrace_calls('t.db'), also in CREATE VIRTUAL
 * TABLE; without an argument it is of the default trace.
 */
#ifndef DT_SQL_SQL_H
#define DT_SQL_SQL_H

#include <sqlite3.h>

#include "core/error.h"

struct dt_sql;

/*
 * Adds the tables to db, with the names devtrace_calls... and, if there is a default, which is the
 * path of a trace file, also with the names calls... . The result belongs to the connection and
 * ends with it. Only one thread at a time may use the connection. in_views: the tables may be used
 * in views of a schema that is not trusted. NULL: *e says why.
 */
struct dt_sql *dt_sql_add(sqlite3 *db, const char *default_path, bool in_views, struct dt_error *e);

/* From now on no other trace than the default one is read, whatever a query names. */
void dt_sql_only_default(struct dt_sql *s);

/* Returns whether a query for a part of a long trace had to begin at the trace's beginning, because
 * the file has no pyramid. */
bool dt_sql_wants_index(const struct dt_sql *s);

/* dt_sql_close_files() closes the traces that are open, when no query is running; then nothing here
 * reads them. dt_sql_open_files() opens the default one again; -1 on error. */
void dt_sql_close_files(struct dt_sql *s);
int dt_sql_open_files(struct dt_sql *s, struct dt_error *e);

#endif
