/* SPDX-License-Identifier: MIT */
/* Writing the rows of a query's answer as a table, CSV or JSON, in bounded memory however many they
 * are. */
#ifndef DT_CMD_ROWS_H
#define DT_CMD_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#include "cmd/terminal.h"

enum dt_rows_form { DT_ROWS_TABLE, DT_ROWS_CSV, DT_ROWS_JSON };

struct dt_rows;

/*
 * Writes on standard output. header: write the names of the columns. A table fits the columns of
 * the terminal, if it has any: texts are cut in the middle, and where the numbers alone take more,
 * each value has a line. Returns NULL when out of memory.
 */
struct dt_rows *dt_rows_new(const struct dt_terminal *t, enum dt_rows_form form, bool header);
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
