/* SPDX-License-Identifier: MIT */
/* Do the sums that were made while recording add up? */
#include "analyse/check.h"
#include "store/sums.h"

/* One sum, and what its lines add up to. */
struct adding {
	struct dt_reader *r;
	struct dt_check *c;
	uint64_t calls;
	struct dt_error *e;
};

static int add_line(void *ctx, const struct dt_sum_line *line)
{
	struct adding *k = ctx;
	uint64_t in_buckets = 0;

	k->calls += line->calls;
	for (unsigned i = 0; line->bucket && i < DT_SUM_BUCKETS; i++)
		in_buckets += line->bucket[i];
	if (line->unknown > line->calls ||
	    (line->bucket && in_buckets != line->calls - line->unknown))
		dt_faults_add(&k->c->faults, DT_FAULT_SUM,
			      "sum %u, row %u: %lu calls, of %lu the value is not known, %lu are "
			      "in its buckets",
			      line->sum, line->row, (unsigned long)line->calls,
			      (unsigned long)line->unknown, (unsigned long)in_buckets);
	return 0;
}

static int check_sum(void *ctx, const struct dt_sum_row *row)
{
	struct adding *k = ctx;

	k->calls = 0;
	if (dt_sums_read_lines(k->r, row->sum, add_line, k, k->e))
		return -1;
	if (k->calls + row->others != row->calls)
		dt_faults_add(&k->c->faults, DT_FAULT_SUM,
			      "sum %u: %lu calls, %lu in its rows and %lu in none", row->sum,
			      (unsigned long)row->calls, (unsigned long)k->calls,
			      (unsigned long)row->others);
	return 0;
}

int dt_check_sums(struct dt_reader *r, struct dt_check *c, struct dt_error *e)
{
	struct adding k = {.r = r, .c = c, .e = e};

	return dt_sums_read(r, check_sum, &k, e);
}
