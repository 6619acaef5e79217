/* SPDX-License-Identifier: MIT */
/* The table of times in which functions were not recorded, to keep to a budget. */
#include <stdlib.h>
#include <string.h>

#include "analyse/missed.h"
#include "sql/table.h"

enum { M_FUNCTION, M_MODULE, M_BEGIN, M_END, M_DURATION, M_CALLS, M_BEFORE, M_AFTER, M_CPU };

static const struct dt_sql_column missed_columns[] = {
	[M_FUNCTION] = {"function", "TEXT", DT_SQL_PLAIN},
	[M_MODULE] = {"module", "TEXT", DT_SQL_PLAIN},
	[M_BEGIN] = {"begin", "INTEGER", DT_SQL_PLAIN},
	[M_END] = {"end", "INTEGER", DT_SQL_PLAIN},
	[M_DURATION] = {"duration", "INTEGER", DT_SQL_PLAIN},
	[M_CALLS] = {"calls_estimated", "INTEGER", DT_SQL_PLAIN},
	[M_BEFORE] = {"rate_before", "REAL", DT_SQL_PLAIN},
	[M_AFTER] = {"rate_after", "REAL", DT_SQL_PLAIN},
	[M_CPU] = {"processor_time", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

struct state {
	struct dt_missed missed;
	size_t at; /* index of the current row, plus one */
};

static int begin_missed(struct dt_sql_scan *s, struct dt_error *e)
{
	struct state *k = calloc(1, sizeof(*k));

	s->state = k;
	if (!k)
		return dt_fail(e, "out of memory");
	return dt_missed_read(&k->missed, s->pass->reader, e);
}

static int next_missed(struct dt_sql_scan *s, struct dt_error *e)
{
	struct state *k = s->state;

	return k->at < k->missed.n ? (k->at++, 1) : 0;
}

static void missed_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct state *k = s->state;
	const struct dt_budget_row *x = &k->missed.row[k->at - 1];

	switch (column) {
	case M_FUNCTION:
		dt_sql_put_function(s, to, x->function);
		break;
	case M_MODULE:
		dt_sql_put_module(s, to, x->function);
		break;
	case M_BEGIN:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, x->begin));
		break;
	case M_END:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, x->end));
		break;
	case M_DURATION:
		dt_sql_put_duration(to, (double)(x->end - x->begin) *
						dt_reader_ns_per_tick(s->pass->reader));
		break;
	case M_CALLS:
		sqlite3_result_int64(to, (int64_t)x->calls);
		break;
	case M_BEFORE:
		sqlite3_result_double(to, x->rate);
		break;
	case M_AFTER:
		if (x->rate_after >= 0)
			sqlite3_result_double(to, x->rate_after);
		break;
	default:
		if (x->cpu_ns)
			sqlite3_result_int64(to, (int64_t)x->cpu_ns);
	}
}

static void end_missed(struct dt_sql_scan *s)
{
	struct state *k = s->state;

	dt_missed_free(&k->missed);
	free(k);
}

const struct dt_sql_table dt_sql_missed = {
	.name = "missed",
	.column = missed_columns,
	.begin = begin_missed,
	.next = next_missed,
	.value = missed_value,
	.end = end_missed,
	.small = true,
};
