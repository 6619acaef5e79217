/* SPDX-License-Identifier: MIT */
/* The rows of a query's answer as text: a table, CSV, JSON. Memory is bounded whatever their
 * number. */
#ifndef DT_CMD_ROWS_H
#define DT_CMD_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

enum dt_rows_form { DT_ROWS_TABLE, DT_ROWS_CSV, DT_ROWS_JSON };

struct dt_rows;

/* NULL: out of memory. */
struct dt_rows *dt_rows_new(FILE *f, enum dt_rows_form form, bool header);
void dt_rows_free(struct dt_rows *r);

/* An answer: so many columns, their names, its rows, its end. 0 columns: it is none. -1: out of
 * memory; of dt_rows_end(): it could not be written, errno. */
void dt_rows_begin(struct dt_rows *r, int columns);
void dt_rows_name(struct dt_rows *r, int column, const char *name);
int dt_rows_row(struct dt_rows *r, sqlite3_stmt *row);
int dt_rows_end(struct dt_rows *r);

#endif
