/* SPDX-License-Identifier: MIT */
/* The table of devtrace diff: for diff.c (its options, and what is read) and diff-table.c only. */
#ifndef DT_CMD_DIFF_WORK_H
#define DT_CMD_DIFF_WORK_H

#include "analyse/batches.h"
#include "analyse/match.h"
#include "cmd/diff.h"

enum { DT_DIFF_SELF, DT_DIFF_TOTAL, DT_DIFF_CALLS, DT_DIFF_AVG, DT_DIFF_NAME, DT_DIFF_KEYS };

/* How likely a difference must at most be by chance to be said: for all functions together. */
#define DT_DIFF_LEVEL 0.01

/* The sums of a function in one trace; times in ns. */
struct sums {
	uint64_t calls, timed;
	double total, self, sum;
};

enum verdict { SAME, NEW, GONE, SLOWER, FASTER, TOO_FEW, VERDICTS };

struct row {
	uint32_t function; /* index into dt_match.function */
	const char *name;
	struct sums in[2]; /* A, B */
	double change;	   /* B - A, of the key */
	double p; /* that both take the same time, adjusted to how many are compared; NAN: not
		     compared */
	enum verdict verdict;
};

struct table {
	struct dt_diff *diff;
	struct dt_match match;
	struct sums *sums[2];	       /* of A and B, by index into dt_match.function */
	struct dt_batches *batches[2]; /* likewise */
	struct row *row;
	size_t rows;
	size_t count[VERDICTS]; /* rows by verdict */
};

/* Returns the word for a verdict; "": SAME and TOO_FEW. */
const char *dt_diff_verdict(enum verdict v);

double dt_diff_value(int key, const struct sums *s);

/* ---- diff-table.c ---- */

extern const char *const dt_diff_key_name[DT_DIFF_KEYS];

void dt_diff_print_table(const struct table *t);
void dt_diff_print_json(const struct table *t);

#endif
