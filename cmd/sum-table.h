/* SPDX-License-Identifier: MIT */
/* The tables of sums (filter/sums-table.h) in a trace, for devtrace sum, and as JSON. */
#ifndef DT_CMD_SUM_TABLE_H
#define DT_CMD_SUM_TABLE_H

#include "cmd/terminal.h"
#include "filter/sums-table.h"
#include "show/format.h"
#include "store/sums.h"

/* Reads the tables that a session has made. Returns how many, and the tables in *t, which the
 * caller frees; -1 on error. */
long dt_sum_tables_read(struct dt_reader *r, struct dt_sums_table **t, struct dt_error *e);
void dt_sum_tables_free(struct dt_sums_table *t, size_t n);

/* Has tables show what the formats' trace says. */
void dt_sum_table_names(struct dt_sums_shown *how, struct dt_formats *formats);
/* Has tables fit the terminal's columns, if it has any; fit and t stay as long as `how' is used. */
void dt_sum_table_fit(struct dt_sums_shown *how, struct dt_sums_fit *fit,
		      const struct dt_terminal *t);
/* Prints a table as JSON lines: one for it, and one for each row. */
void dt_sum_table_json(struct dt_sums_table *t, const struct dt_sums_shown *how);

#endif
