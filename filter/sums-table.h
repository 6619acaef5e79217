/* SPDX-License-Identifier: MIT */
/* The table of a sum as text, from a trace file or of a running session. */
#ifndef DT_FILTER_SUMS_TABLE_H
#define DT_FILTER_SUMS_TABLE_H

#include <stdio.h>

#include "filter/sums.h"

/* What rows are sorted by, the greatest first; keys: by their text. */
enum dt_sums_sort {
	DT_SUMS_BY_CALLS,
	DT_SUMS_BY_SUM,
	DT_SUMS_BY_AVG,
	DT_SUMS_BY_MIN,
	DT_SUMS_BY_MAX,
	DT_SUMS_BY_KEY
};

struct dt_sums_table {
	const char *text; /* the words */
	struct dt_sums_words words;
	uint64_t calls, others; /* as in struct dt_sums_totals */
	uint64_t missed;	/* calls that could not be looked at, since too many were open */
	struct dt_sums_row **row;
	size_t rows;
	bool owned; /* the rows belong to the table */
};

/* How a table is fitted into a terminal's columns; standard output leads there. */
struct dt_sums_fit {
	unsigned columns;
	const void *terminal; /* for these: */
	unsigned (*width)(const void *terminal, const char *text);
	/* prints a text, cut to so many columns */
	void (*cut)(const void *terminal, const char *text, unsigned columns);
	/* prints a line, broken where it is too long */
	void (*line)(const void *terminal, const char *text);
};

/* How tables are shown. */
struct dt_sums_shown {
	/* Returns a key as one line for people, valid until the next call. */
	const char *(*key)(void *ctx, const struct dt_sums_row *row,
			   const struct dt_sums_term *term, const struct dt_sums_part *part);
	void *ctx;
	double ns_per_tick;
	enum dt_sums_sort sort;
	bool sorted;		       /* `sort' was given */
	uint64_t rows;		       /* the most that are shown; 0: all */
	const char *more;	       /* said behind "N more rows" */
	const struct dt_sums_fit *fit; /* NULL: lines are as long as they are */
};

/* Sorts the rows. */
void dt_sums_table_sort(struct dt_sums_table *t, const struct dt_sums_shown *how);
/* Sorts the rows, and writes the table; with how->fit, out is standard output. */
void dt_sums_table_print(FILE *out, struct dt_sums_table *t, const struct dt_sums_shown *how);

/* Returns a number in decimal; text has room for 48 bytes. */
const char *dt_sums_number(char *text, __int128 v);

#endif
