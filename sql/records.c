/* SPDX-License-Identifier: MIT */
/* Tables records and switches: a row for each record. */
#include <stdlib.h>

#include "sql/walk.h"

enum {
	TIME,
	KIND,
	THREAD,
	PROCESS,
	CORE,
	FUNCTION,
	MODULE,
	PC,
	SP,
	VALUE0,
	VALUE1,
	VALUE2,
	VALUE3,
	FLAGS,
	TICKS,
};

#define VALUES (0xfull << VALUE0)

static const struct dt_sql_column record_columns[] = {
	[TIME] = {"time", "INTEGER", DT_SQL_BEGIN},
	[KIND] = {"kind", "TEXT", DT_SQL_PLAIN},
	[THREAD] = {"thread", "INTEGER", DT_SQL_THREAD},
	[PROCESS] = {"process", "INTEGER", DT_SQL_PROCESS},
	[CORE] = {"core", "INTEGER", DT_SQL_CORE},
	[FUNCTION] = {"function", "TEXT", DT_SQL_FUNCTION},
	[MODULE] = {"module", "TEXT", DT_SQL_PLAIN},
	[PC] = {"pc", "INTEGER", DT_SQL_PLAIN},
	[SP] = {"sp", "INTEGER", DT_SQL_PLAIN},
	[VALUE0] = {"value0", "INTEGER", DT_SQL_PLAIN},
	[VALUE1] = {"value1", "INTEGER", DT_SQL_PLAIN},
	[VALUE2] = {"value2", "INTEGER", DT_SQL_PLAIN},
	[VALUE3] = {"value3", "INTEGER", DT_SQL_PLAIN},
	[FLAGS] = {"flags", "INTEGER", DT_SQL_PLAIN},
	[TICKS] = {"ticks", "INTEGER", DT_SQL_BEGIN_TICKS},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int begin_walk(struct dt_sql_scan *s, struct dt_error *e)
{
	const struct dt_sql_times *t = &s->want.begin;

	s->state = malloc(sizeof(struct dt_sql_walk));
	if (!s->state)
		return dt_fail(e, "out of memory");
	return dt_sql_walk_begin(s->state, s->pass->reader, t->from, t->to,
				 s->want.columns & VALUES, e);
}

/* Returns whether the current record is asked for. */
static bool is_wanted(const struct dt_sql_scan *s)
{
	const struct dt_sql_walk *w = s->state;

	return (!s->want.one_core || dt_sql_walk_core(w) == s->want.core) &&
	       dt_sql_wants_thread(s, w->span.tid) &&
	       (!s->want.function || dt_sql_wants_function(s, dt_sql_walk_site(w)->function));
}

static int next_record(struct dt_sql_scan *s, struct dt_error *e)
{
	struct dt_sql_walk *w = s->state;
	int rc;

	do
		rc = dt_sql_walk_next(w, e);
	while (rc > 0 && !is_wanted(s));
	return rc;
}

static void record_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct dt_sql_walk *w = s->state;
	const struct dt_site *site = dt_sql_walk_site(w);
	uint32_t i = w->at;
	char kind = (char)site->kind;

	switch (column) {
	case TIME:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, w->span.ticks[i]));
		break;
	case KIND:
		sqlite3_result_text(to, &kind, 1, SQLITE_TRANSIENT);
		break;
	case THREAD:
		dt_sql_put_thread(to, w->span.tid);
		break;
	case PROCESS:
		dt_sql_put_process(s, to, w->span.tid);
		break;
	case CORE:
		dt_sql_put_core(to, dt_sql_walk_core(w));
		break;
	case FUNCTION:
		dt_sql_put_function(s, to, site->function);
		break;
	case MODULE:
		dt_sql_put_module(s, to, site->function);
		break;
	case PC:
		sqlite3_result_int64(to, (int64_t)site->pc);
		break;
	case SP:
		sqlite3_result_int64(to, (int64_t)w->span.sp[i]);
		break;
	case FLAGS:
		sqlite3_result_int(to, w->span.flags[i]);
		break;
	case TICKS:
		sqlite3_result_int64(to, (int64_t)w->span.ticks[i]);
		break;
	default:
		if (site->mask >> (column - VALUE0) & 1)
			sqlite3_result_int64(to, (int64_t)w->span.value[i][column - VALUE0]);
	}
}

static void end_walk(struct dt_sql_scan *s)
{
	free(s->state);
}

const struct dt_sql_table dt_sql_records = {
	.name = "records",
	.column = record_columns,
	.begin = begin_walk,
	.next = next_record,
	.value = record_value,
	.end = end_walk,
};

/* ---- switches ---- */

enum { S_TIME, S_CORE, S_THREAD, S_PROCESS, S_NAME, S_TICKS };

static const struct dt_sql_column switch_columns[] = {
	[S_TIME] = {"time", "INTEGER", DT_SQL_BEGIN},
	[S_CORE] = {"core", "INTEGER", DT_SQL_CORE},
	[S_THREAD] = {"thread", "INTEGER", DT_SQL_THREAD},
	[S_PROCESS] = {"process", "INTEGER", DT_SQL_PROCESS},
	[S_NAME] = {"name", "TEXT", DT_SQL_PLAIN},
	[S_TICKS] = {"ticks", "INTEGER", DT_SQL_BEGIN_TICKS},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int begin_switches(struct dt_sql_scan *s, struct dt_error *e)
{
	s->want.columns = 0; /* this table's columns are numbered otherwise; it needs no values */
	return begin_walk(s, e);
}

static int next_switch(struct dt_sql_scan *s, struct dt_error *e)
{
	int rc;

	do
		rc = next_record(s, e);
	while (rc > 0 && dt_sql_walk_site(s->state)->kind != DT_SWITCH);
	return rc;
}

static void switch_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct dt_sql_walk *w = s->state;
	const struct dt_thread_info *t;

	switch (column) {
	case S_TIME:
		record_value(s, to, TIME);
		break;
	case S_CORE:
		record_value(s, to, CORE);
		break;
	case S_THREAD:
		record_value(s, to, THREAD);
		break;
	case S_PROCESS:
		record_value(s, to, PROCESS);
		break;
	case S_TICKS:
		record_value(s, to, TICKS);
		break;
	default:
		t = w->span.tid == DT_NO_TID ? NULL
					     : dt_reader_thread(s->pass->reader, w->span.tid);
		if (t)
			dt_sql_put_text(to, t->name);
	}
}

const struct dt_sql_table dt_sql_switches = {
	.name = "switches",
	.column = switch_columns,
	.begin = begin_switches,
	.next = next_switch,
	.value = switch_value,
	.end = end_walk,
};
