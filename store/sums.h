/* SPDX-License-Identifier: MIT */
/* What a session has summed up while it recorded (filter/sums.h), in a trace file. */
#ifndef DT_STORE_SUMS_H
#define DT_STORE_SUMS_H

#include "store/reader.h"
#include "store/store.h"

/* A sum. `words' is valid during the call that it is passed to. */
struct dt_sum_row {
	unsigned sum;	   /* from 0 */
	const char *words; /* as they were given */
	uint64_t calls;	   /* that counted */
	uint64_t others;   /* those of them that are in no row of the table, which was full */
	uint64_t missed;   /* calls that could not be looked at, since too many were open */
};

/* A row of a sum's table. `key' and `bucket' are valid during the call that it is passed to. */
struct dt_sum_line {
	unsigned sum;
	uint32_t row;		 /* from 0 */
	uint32_t function;	 /* row of table function; 0: several */
	uint64_t calls, unknown; /* unknown: those of them whose value is not known */
	bool real;		 /* `floating' has the numbers */
	__int128 number[3];	 /* of the values: sum, least, greatest */
	double floating[3];
	const void *key; /* as filter/sums.h has it */
	size_t key_n;
	const uint64_t *bucket; /* DT_SUM_BUCKETS, or NULL */
};
#define DT_SUM_BUCKETS 129u

/* Write a row; an earlier one of the same sum, or of the same row of it, is replaced. Return -1 on
 * error. */
int dt_store_sum(struct dt_store *s, const struct dt_sum_row *row, struct dt_error *e);
int dt_store_sum_line(struct dt_store *s, const struct dt_sum_line *line, struct dt_error *e);
/* Removes all sums that have been written: they are written anew, since others are made. */
int dt_store_sums_forget(struct dt_store *s, struct dt_error *e);

/* Calls fn for each sum in the order of their numbers, or for each row of a sum, until it returns
 * other than 0, which is returned; -1: an error. Files without sums have none. */
int dt_sums_read(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_sum_row *row), void *ctx,
		 struct dt_error *e);
int dt_sums_read_lines(struct dt_reader *r, unsigned sum,
		       int (*fn)(void *ctx, const struct dt_sum_line *line), void *ctx,
		       struct dt_error *e);

#endif
