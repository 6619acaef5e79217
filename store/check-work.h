/* SPDX-License-Identifier: MIT */
/* What the parts of the check of a file share. */
#ifndef DT_STORE_CHECK_WORK_H
#define DT_STORE_CHECK_WORK_H

#include <sqlite3.h>

#include "store/check.h"

/* Calls fn for each row of a query. A table that older files have not got has no rows. */
void dt_check_each(sqlite3 *db, struct dt_faults *f, const char *table, const char *sql,
		   void (*fn)(void *ctx, sqlite3_stmt *q), void *ctx);

/* The rows of all tables but those of records: what each says for itself, and of others. */
void dt_check_rows(struct dt_reader *r, struct dt_faults *f, struct dt_check_chunks *c);

#endif
