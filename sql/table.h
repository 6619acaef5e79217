/* SPDX-License-Identifier: MIT */
/* What all tables have in common: columns, what a query asks of them, and running a query. */
#ifndef DT_SQL_TABLE_H
#define DT_SQL_TABLE_H

#include <sqlite3.h>

#include "sql/source.h"

/* What a column means: a condition on it can let less of the trace be read. */
enum dt_sql_meaning {
	DT_SQL_PLAIN,
	DT_SQL_BEGIN, /* ns; also of rows that have only one time */
	DT_SQL_BEGIN_TICKS,
	DT_SQL_END,
	DT_SQL_END_TICKS,
	DT_SQL_THREAD,
	DT_SQL_PROCESS,
	DT_SQL_CORE,
	DT_SQL_FUNCTION, /* name of a function */
	DT_SQL_ID,	 /* id of a call: see dt_sql_calls_id() */
	DT_SQL_PARENT,	 /* id of the caller */
	DT_SQL_FILE,	 /* path of the trace: the last column, hidden; it is what is in parentheses
			    after the table's name */
};

struct dt_sql_column {
	const char *name;
	const char *type; /* "" or an affinity; with HIDDEN, it is not in `*' */
	enum dt_sql_meaning meaning;
};

struct dt_sql_times {
	uint64_t from, to; /* ticks, both inclusive; 0 and UINT64_MAX: all */
};

/* What a query asks for. Rows that do not fit may pass too: SQLite checks them again. */
struct dt_sql_want {
	struct dt_sql_times begin, end;
	bool one_thread, one_process, one_core, one_id, one_parent;
	uint32_t thread, process;
	uint16_t core;
	int64_t id, parent;
	uint8_t *function;  /* by row: whether it is wanted; NULL: all are */
	uint32_t functions; /* elements of function */
	uint64_t columns;   /* bit i: column i is used */
	bool nothing;	    /* no row can fit */
	bool *unindexed;    /* is set when a pyramid would have helped */
};

/* One run of a query over a table. */
struct dt_sql_scan {
	struct dt_sql_sources *sources;
	struct dt_sql_pass *pass; /* of the cursor */
	struct dt_sql_want want;
	void *state; /* of the table, set by its begin() */
};

/* A table: its columns, and the functions that make its rows. */
struct dt_sql_table {
	const char *name;
	const struct dt_sql_column *column; /* ends with one that has no name */
	/* Begins a run. Returns 0, or -1 and *e. If state is set, end() frees it in either case. */
	int (*begin)(struct dt_sql_scan *s, struct dt_error *e);
	/* Moves to the next row. 1: there is one; 0: no more; -1 and *e. */
	int (*next)(struct dt_sql_scan *s, struct dt_error *e);
	/* Gives SQLite a column of the row. */
	void (*value)(struct dt_sql_scan *s, sqlite3_context *to, int column);
	void (*end)(struct dt_sql_scan *s);
	bool small; /* its rows are not made from records */
};

extern const struct dt_sql_table dt_sql_records, dt_sql_calls, dt_sql_events, dt_sql_messages,
	dt_sql_switches, dt_sql_wakes, dt_sql_lost, dt_sql_missed, dt_sql_pauses, dt_sql_changes,
	dt_sql_held, dt_sql_threads, dt_sql_processes, dt_sql_functions, dt_sql_stacks,
	dt_sql_activities, dt_sql_usage;

/* ---- for the tables ---- */

/* Returns whether a thread, a function, or a time is one that is asked for. */
bool dt_sql_wants_thread(const struct dt_sql_scan *s, uint32_t tid);
static inline bool dt_sql_wants_function(const struct dt_sql_scan *s, uint32_t function)
{
	return !s->want.function || function >= s->want.functions || s->want.function[function];
}
static inline bool dt_sql_in(const struct dt_sql_times *t, uint64_t ticks)
{
	return ticks >= t->from && ticks <= t->to;
}

/* Give SQLite a value: a thread (NULL: none), its process, the name and the module of a function, a
 * core, a text. */
void dt_sql_put_thread(sqlite3_context *to, uint32_t tid);
void dt_sql_put_process(struct dt_sql_scan *s, sqlite3_context *to, uint32_t tid);
void dt_sql_put_function(struct dt_sql_scan *s, sqlite3_context *to, uint32_t function);
void dt_sql_put_module(struct dt_sql_scan *s, sqlite3_context *to, uint32_t function);
void dt_sql_put_core(sqlite3_context *to, uint16_t core);
void dt_sql_put_text(sqlite3_context *to, const char *text);
/* Gives SQLite a time in ns, to a tenth, as in report and export. */
void dt_sql_put_duration(sqlite3_context *to, double ns);

#endif
