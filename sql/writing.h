/* SPDX-License-Identifier: MIT */
/* Queries over a trace file in which only the table activities may be changed. */
#ifndef DT_SQL_WRITING_H
#define DT_SQL_WRITING_H

#include "sql/sql.h"

struct dt_sql_session {
	sqlite3 *db;
	struct dt_sql *sql;
	uint64_t device, inode; /* of the trace file */
	bool creating;		/* the table activities is being created */
	bool writes;		/* the statement that is being prepared writes to the trace */
	bool refused; /* a statement was not prepared, because the trace is being recorded */
};

/*
 * Opens the trace at path as the main database of a connection with the tables. write: the trace,
 * or a file that is attached, may be written or created; otherwise all are opened for reading. s
 * must stay in its place until dt_sql_close(), which is to be called in any case. Returns -1 on
 * error.
 */
int dt_sql_open(struct dt_sql_session *s, const char *path, bool write, struct dt_error *e);
void dt_sql_close(struct dt_sql_session *s);

/* Prepares a statement, as sqlite3_prepare_v2(). Creates the table activities if the statement
 * writes to it and there is none. */
int dt_sql_prepare(struct dt_sql_session *s, const char *text, sqlite3_stmt **out,
		   const char **rest);

#endif
