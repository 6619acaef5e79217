/* SPDX-License-Identifier: MIT */
/* The table of a sum (filter/sums.h), for devtrace sum: printed, or as JSON. */
#ifndef DT_CMD_SUM_TABLE_H
#define DT_CMD_SUM_TABLE_H

#include "filter/sums.h"
#include "show/format.h"
#include "store/sums.h"

/* What rows are sorted by, the greatest first; keys: by their text. */
enum dt_sum_sort { DT_SUM_CALLS, DT_SUM_SUM, DT_SUM_AVG, DT_SUM_MIN, DT_SUM_MAX, DT_SUM_KEY };

struct dt_sum_table {
	const char *text; /* the words */
	struct dt_sums_words words;
	uint64_t calls, others, missed; /* as in struct dt_sum_row */
	struct dt_sums_row **row;
	size_t rows;
	bool owned; /* the rows belong to the table */
};

/* Reads the tables that a session has made. Returns how many, and the tables in *t, which the
 * caller frees; -1 on error. */
long dt_sum_tables_read(struct dt_reader *r, struct dt_sum_table **t, struct dt_error *e);
void dt_sum_tables_free(struct dt_sum_table *t, size_t n);

/* How tables are shown. */
struct dt_sum_shown {
	struct dt_formats *formats; /* of the trace */
	enum dt_sum_sort sort;
	bool sorted;   /* `sort' was given */
	uint64_t rows; /* the most that are shown; 0: all */
};

/* Sorts the rows, and prints the table. */
void dt_sum_table_print(struct dt_sum_table *t, const struct dt_sum_shown *how);
/* Prints it as one JSON object. */
void dt_sum_table_json(struct dt_sum_table *t, const struct dt_sum_shown *how);

#endif
