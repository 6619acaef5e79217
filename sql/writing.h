/* SPDX-License-Identifier: MIT */
/* Queries over a trace file in which only the table activities may be written. */
#ifndef DT_SQL_WRITING_H
#define DT_SQL_WRITING_H

#include "sql/sql.h"

struct dt_sql_session {
	sqlite3 *db;
	struct dt_sql *sql;
	uint64_t device, inode; /* of the trace */
	bool creating;		/* the table activities */
	bool writes;		/* the statement that is prepared does, to the trace */
	bool refused;		/* it was not prepared, because the trace is being recorded */
};

/* write: something is, or made, in the trace or a file that is attached; else they are opened for
 * reading. The trace at path is the connection's main database, with the tables. s stays where it
 * is until dt_sql_close(), which is to be called in any case. */
int dt_sql_open(struct dt_sql_session *s, const char *path, bool write, struct dt_error *e);
void dt_sql_close(struct dt_sql_session *s);

/* As sqlite3_prepare_v2(). Makes the table activities when a statement writes to it and there is
 * none. */
int dt_sql_prepare(struct dt_sql_session *s, const char *text, sqlite3_stmt **out,
		   const char **rest);

#endif
