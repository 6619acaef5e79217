/* SPDX-License-Identifier: MIT */
/* What all tables have in common: columns, what a query asks of them, and running it. */
#ifndef DT_SQL_TABLE_H
#define DT_SQL_TABLE_H

#include <sqlite3.h>

#include "sql/source.h"

/* What a condition on a column lets the trace be read less for. */
enum dt_sql_meaning {
	DT_SQL_PLAIN,
	DT_SQL_BEGIN, /* ns; of what has but one time, too */
	DT_SQL_BEGIN_TICKS,
	DT_SQL_END,
	DT_SQL_END_TICKS,
	DT_SQL_THREAD,
	DT_SQL_PROCESS,
	DT_SQL_CORE,
	DT_SQL_FUNCTION, /* its name */
	DT_SQL_ID,	 /* of a call: dt_sql_call_id() */
	DT_SQL_PARENT,	 /* the same */
	DT_SQL_FILE,	 /* the trace: hidden, the last column; what is in parentheses behind the
			    table's name */
};

struct dt_sql_column {
	const char *name;
	const char *type; /* "" or an affinity; with HIDDEN: not in `*' */
	enum dt_sql_meaning meaning;
};

struct dt_sql_times {
	uint64_t from, to; /* ticks, both included; 0 and UINT64_MAX: all */
};

/* What a query asks for. The conditions let some pass that do not hold: SQLite looks again. */
struct dt_sql_want {
	struct dt_sql_times begin, end;
	bool one_thread, one_process, one_core, one_id, one_parent;
	uint32_t thread, process;
	uint16_t core;
	int64_t id, parent;
	uint8_t *function;  /* by row: is it wanted? NULL: all are */
	uint32_t functions; /* rows that it knows */
	uint64_t columns;   /* bit i: column i is looked at */
	bool nothing;	    /* no row can be what is asked for */
	bool *unindexed;    /* set when there should be a pyramid */
};

/* One run of a query over a table. */
struct dt_sql_scan {
	struct dt_sql_sources *sources;
	struct dt_sql_pass *pass; /* the cursor's */
	struct dt_sql_want want;
	void *state; /* the table's */
};

struct dt_sql_table {
	const char *name;
	const struct dt_sql_column *column; /* the last one has no name */
	/* 0, or -1 and e. state is freed by end() in either case, when it is set. */
	int (*begin)(struct dt_sql_scan *s, struct dt_error *e);
	/* 1: there is a row; 0: no more; -1. */
	int (*next)(struct dt_sql_scan *s, struct dt_error *e);
	void (*value)(struct dt_sql_scan *s, sqlite3_context *to, int column);
	void (*end)(struct dt_sql_scan *s);
	bool small; /* the rows are not made from records */
};

extern const struct dt_sql_table dt_sql_records, dt_sql_calls, dt_sql_events, dt_sql_messages,
	dt_sql_switches, dt_sql_lost, dt_sql_pauses, dt_sql_changes, dt_sql_held, dt_sql_threads,
	dt_sql_processes, dt_sql_functions, dt_sql_activities;

/* ---- for the tables ---- */

/* Is a thread one that is asked for? */
bool dt_sql_wants_thread(const struct dt_sql_scan *s, uint32_t tid);
static inline bool dt_sql_wants_function(const struct dt_sql_scan *s, uint32_t function)
{
	return !s->want.function || function >= s->want.functions || s->want.function[function];
}
static inline bool dt_sql_in(const struct dt_sql_times *t, uint64_t ticks)
{
	return ticks >= t->from && ticks <= t->to;
}

/* Values: of a thread (none: NULL), its process, a function row's name and module, a core. */
void dt_sql_put_thread(sqlite3_context *to, uint32_t tid);
void dt_sql_put_process(struct dt_sql_scan *s, sqlite3_context *to, uint32_t tid);
void dt_sql_put_function(struct dt_sql_scan *s, sqlite3_context *to, uint32_t function);
void dt_sql_put_module(struct dt_sql_scan *s, sqlite3_context *to, uint32_t function);
void dt_sql_put_core(sqlite3_context *to, uint16_t core);
void dt_sql_put_text(sqlite3_context *to, const char *text);
/* ns, as report and export have it: to a tenth. */
void dt_sql_put_duration(sqlite3_context *to, double ns);

#endif
