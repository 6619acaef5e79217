/* SPDX-License-Identifier: MIT */
/* Writing the rows of a query's answer as a table, CSV or JSON, in bounded memory however many they
 * are. */
#ifndef DT_CMD_ROWS_H
#define DT_CMD_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

enum dt_rows_form { DT_ROWS_TABLE, DT_ROWS_CSV, DT_ROWS_JSON };

struct dt_rows;

/* Returns NULL when out of memory. header: write the names of the columns. */
struct dt_rows *dt_rows_new(FILE *f, enum dt_rows_form form, bool header);
void dt_rows_free(struct dt_rows *r);

/*
 * For each answer call: dt_rows_begin() with the number of columns, where 0 means that the
 * statement has no answer; dt_rows_name() for each column; dt_rows_row() for each row;
 * dt_rows_end(). The last two return -1 when out of memory; dt_rows_end() also when writing failed,
 * with errno.
 */
void dt_rows_begin(struct dt_rows *r, int columns);
void dt_rows_name(struct dt_rows *r, int column, const char *name);
int dt_rows_row(struct dt_rows *r, sqlite3_stmt *row);
int dt_rows_end(struct dt_rows *r);

#endif
