/* SPDX-License-Identifier: MIT */
/* A run of a query over the table calls: for calls.c (where pairing begins and ends), calls-id.c,
 * calls-rows.c, calls-arguments.c and calls-values.c only. */
#ifndef DT_SQL_CALLS_WORK_H
#define DT_SQL_CALLS_WORK_H

#include "analyse/pair.h"
#include "filter/failures.h"
#include "show/further.h"
#include "show/json.h"
#include "sql/table.h"

/* The columns, in their order. */
enum {
	ID,
	PARENT,
	DEPTH,
	THREAD,
	PROCESS,
	CORE,
	FUNCTION,
	MODULE,
	BEGIN,
	END,
	DURATION,
	SELF,
	ENDED,
	TIMED,
	RECURSIVE,
	TEXT,
	ARGUMENTS,
	ARG0,
	ARG1,
	ARG2,
	ARG3,
	RESULT,
	RESULT0,
	BEGIN_TICKS,
	END_TICKS,
	FLAGS,
	FAILED,
	ERRNO,
	WAITED,
	SELF_WAITED,
	PREEMPTED,
	WAITED_FOR,
	UNSEEN,
	WOKEN_BY,
	RUN_LATENCY,
};

struct row {
	struct dt_call call; /* argument and result: if not NULL, the next two are set */
	uint64_t argument[4], result[4];
	struct dt_full full; /* what came after the entry; all 0: nothing */
	int64_t parent;	     /* id of the caller; 0: not known */
	uint16_t core;	     /* core on which it ended */
};

/* A call that was open at the end of the trace: its callers are known by the numbers that pairing
 * gave. */
struct open_call {
	uint64_t number;
	int64_t id;
};

struct scan {
	struct dt_sql_scan *of;
	struct dt_pair *pair;
	struct dt_span span;
	struct row *row; /* rows to be handed out: from `first' on; the one before it is the current
			    row */
	size_t first, n, room;
	struct open_call *open;
	size_t opens, open_room;
	uint64_t open_now;   /* open calls whose begin and function are asked for */
	bool counts, values; /* counts: open_now is counted */
	bool orphans;	     /* calls without an entry may be among those asked for */
	bool whole;	     /* pairing goes to the end of the trace */
	bool over, ended, failed;
	bool waits;		   /* switches tell what was waiting */
	uint32_t slots;		   /* places for threads in ids: see dt_sql_calls_id() */
	struct dt_sql_pass *other; /* for looking up arguments; NULL: not needed so far */
	struct dt_further further; /* what came after the entries of open calls */
	struct dt_json json;
	struct dt_failures failures;
	char *text;
};

/* For dt_pair_callers(): puts the nearest caller into ctx, a pointer. */
static inline bool dt_sql_calls_take_caller(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

/* ---- calls-id.c ---- */

/* Returns the id of a call; 0: its entry was not recorded. */
int64_t dt_sql_calls_id(const struct scan *x, const struct dt_call *c);
/* Return of a call with such an id the tick at which it begins, and the place of its thread in the
 * list of threads; x->slots - 1: it may be one that is not in the list. */
uint64_t dt_sql_calls_begin_of(const struct scan *x, int64_t id);
uint32_t dt_sql_calls_slot_of(const struct scan *x, int64_t id);

/* ---- calls-rows.c ---- */

/* For struct dt_pair_events: ctx is the struct scan. */
void dt_sql_calls_on_begin(void *ctx, const struct dt_call *c);
void dt_sql_calls_on_end(void *ctx, const struct dt_call *c);
/* Adds the calls that never ended, if the run does not go to the end of the trace. */
void dt_sql_calls_add_late(struct scan *x);
/* Sets the callers of calls that were open at the end, when all of these are known. */
void dt_sql_calls_find_callers(struct scan *x);
/* Frees the rows, which have been handed out. */
void dt_sql_calls_forget_rows(struct scan *x);

/* ---- calls-arguments.c ---- */

/* For struct dt_pair_events: takes down what came after an entry; ctx is the struct scan. */
void dt_sql_calls_on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth);
/* Returns a call's arguments; NULL: they are not known, or SQLite was given an error. */
const uint64_t *dt_sql_calls_arguments(struct scan *x, struct row *r, sqlite3_context *to);

/* ---- calls-values.c ---- */

/* For struct dt_sql_table. */
void dt_sql_calls_value(struct dt_sql_scan *s, sqlite3_context *to, int column);

#endif
