/* SPDX-License-Identifier: MIT */
/* The table of what processes used of memory and processor time. */
#include <stdlib.h>

#include "sql/table.h"
#include "store/usage.h"

enum { U_PROCESS, U_TIME, U_MEMORY, U_TAKEN, U_PROCESSORS };

static const struct dt_sql_column usage_columns[] = {
	[U_PROCESS] = {"process", "INTEGER", DT_SQL_PLAIN},
	[U_TIME] = {"time", "INTEGER", DT_SQL_PLAIN},
	[U_MEMORY] = {"memory", "INTEGER", DT_SQL_PLAIN},
	[U_TAKEN] = {"processor_time", "INTEGER", DT_SQL_PLAIN},
	[U_PROCESSORS] = {"processors", "REAL", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

struct state {
	struct dt_usages all;
	size_t at; /* index of the current row, plus one */
};

static int begin_usage(struct dt_sql_scan *s, struct dt_error *e)
{
	struct state *k = calloc(1, sizeof(*k));

	s->state = k;
	if (!k)
		return dt_fail(e, "out of memory");
	return dt_usages_load(&k->all, s->pass->reader, e);
}

static int next_usage(struct dt_sql_scan *s, struct dt_error *e)
{
	struct state *k = s->state;

	return k->at < k->all.n ? (k->at++, 1) : 0;
}

static void usage_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct state *k = s->state;
	const struct dt_usage_row *x = &k->all.row[k->at - 1];
	double ns;

	switch (column) {
	case U_PROCESS:
		sqlite3_result_int64(to, x->pid);
		break;
	case U_TIME:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, x->ticks));
		break;
	case U_MEMORY:
		sqlite3_result_int64(to, (int64_t)x->memory);
		break;
	case U_TAKEN:
		sqlite3_result_int64(to, (int64_t)x->cpu_ns);
		break;
	default:
		/* since the row before, of the same process */
		if (k->at < 2 || x[-1].pid != x->pid || x[-1].ticks >= x->ticks ||
		    x[-1].cpu_ns > x->cpu_ns)
			break;
		ns = (double)(x->ticks - x[-1].ticks) * dt_reader_ns_per_tick(s->pass->reader);
		sqlite3_result_double(to, (double)(x->cpu_ns - x[-1].cpu_ns) / ns);
	}
}

static void end_usage(struct dt_sql_scan *s)
{
	struct state *k = s->state;

	dt_usages_free(&k->all);
	free(k);
}

const struct dt_sql_table dt_sql_usage = {
	.name = "usage",
	.column = usage_columns,
	.begin = begin_usage,
	.next = next_usage,
	.value = usage_value,
	.end = end_usage,
	.small = true,
};
