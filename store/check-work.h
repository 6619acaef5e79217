/* SPDX-License-Identifier: MIT */
/* What check.c and check-rows.c, the two parts of the check of a file, share. */
#ifndef DT_STORE_CHECK_WORK_H
#define DT_STORE_CHECK_WORK_H

#include <sqlite3.h>

#include "store/check.h"

/* Calls fn for each row of a query. If the table is not there, as in older files, there are no
 * rows. Any other error is counted as a fault of `table'. */
void dt_check_each(sqlite3 *db, struct dt_faults *f, const char *table, const char *sql,
		   void (*fn)(void *ctx, sqlite3_stmt *q), void *ctx);

/*
 * Checks the rows of the tables that hold no records: each row by itself and against other tables.
 */
void dt_check_rows(struct dt_reader *r, struct dt_faults *f, struct dt_check_chunks *c);

#endif
