/* SPDX-License-Identifier: MIT */
#include "store/budget.h"

#include "store/layout.h"
#include "store/reader-work.h"

int dt_budget_read(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_budget_row *row),
		   void *ctx, struct dt_error *e)
{
	static const char sql[] =
		DT_STORE_BUDGET_SQL("budget_off") " ORDER BY a.function, a.begin_ticks";
	sqlite3_stmt *q;
	int rc = 0, stopped = 0;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	while (!stopped && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		int64_t function = sqlite3_column_int64(q, 0);
		struct dt_budget_row row = {
			.function = function > 0 && function <= dt_reader_functions(r)
					    ? (uint32_t)function
					    : 0,
			.begin = (uint64_t)sqlite3_column_int64(q, 1),
			.end = (uint64_t)sqlite3_column_int64(q, 2),
			.rate = sqlite3_column_double(q, 3),
			.calls = (uint64_t)sqlite3_column_int64(q, 4),
			.rate_after = sqlite3_column_type(q, 5) == SQLITE_NULL
					      ? -1
					      : sqlite3_column_double(q, 5),
			.cpu_ns = (uint64_t)sqlite3_column_int64(q, 6)};

		/* nothing is known of a function that is not in the file (yet) */
		stopped = row.function ? fn(ctx, &row) : 0;
	}
	sqlite3_finalize(q);
	if (stopped)
		return stopped;
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

/* The sum so far, and the function of the last row: they come by function. */
struct adding {
	struct dt_budget_sum *sum;
	uint32_t last;
};

static int add(void *ctx, const struct dt_budget_row *row)
{
	struct adding *k = ctx;

	k->sum->functions += row->function != k->last;
	k->last = row->function;
	k->sum->times++;
	k->sum->calls += row->calls;
	return 0;
}

void dt_budget_sum(struct dt_reader *r, struct dt_budget_sum *sum)
{
	*sum = (struct dt_budget_sum){0};
	dt_budget_read(r, add, &(struct adding){sum, 0}, NULL);
}
