/* SPDX-License-Identifier: MIT */
/* The columns of the table calls: what SQLite is given of a row. */
#include "sql/calls-work.h"

#include <stdlib.h>
#include <string.h>

#include "show/failure.h"
#include "sql/arguments.h"

static const uint64_t *result_of(const struct row *r)
{
	return r->call.result ? r->result : NULL;
}

static void put_text(struct scan *x, sqlite3_context *to, struct row *r)
{
	struct dt_formats *f = &x->of->pass->formats;
	const uint64_t *argument = dt_sql_calls_arguments(x, r, to);
	char *end;

	if (!x->text && !(x->text = malloc(2 * DT_CALL_TEXT))) {
		sqlite3_result_error_nomem(to);
		return;
	}
	end = r->full.n ? dt_format_full(f, x->text, r->call.function, argument, &r->full)
			: dt_format_call(f, x->text, r->call.function, argument);
	end = dt_format_outcome(f, end, r->call.function, result_of(r));
	sqlite3_result_text64(to, x->text, (size_t)(end - x->text), SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void put_arguments(struct scan *x, sqlite3_context *to, struct row *r)
{
	const uint64_t *argument = dt_sql_calls_arguments(x, r, to);

	if (!argument)
		return;
	dt_sql_call_arguments(&x->of->pass->formats, &x->json, r->call.function, argument,
			      r->full.n ? &r->full : NULL);
	dt_sql_put_json(to, &x->json);
}

static bool has_value(const struct scan *x, uint32_t site, unsigned i)
{
	const struct dt_site *s = dt_reader_site(x->of->pass->reader, site);

	return s && s->mask >> i & 1;
}

static void put_argument(struct scan *x, sqlite3_context *to, struct row *r, unsigned i)
{
	const uint64_t *argument = dt_sql_calls_arguments(x, r, to);

	if (argument && has_value(x, r->call.entry, i))
		sqlite3_result_int64(to, (int64_t)argument[i]);
}

/* Gives the result by its type: numbers and addresses as numbers, anything else as `calls' prints
 * it. */
static void put_result(struct scan *x, sqlite3_context *to, struct row *r)
{
	const uint64_t *result = result_of(r);
	char *end;

	if (!x->text && !(x->text = malloc(2 * DT_CALL_TEXT))) {
		sqlite3_result_error_nomem(to);
		return;
	}
	if (!result)
		return;
	end = dt_format_result(&x->of->pass->formats, x->text, r->call.function, result);
	if (end - x->text <= 3)
		return;
	*end = '\0';
	if (strncmp(x->text + 3, "0x", 2) == 0 && !strchr(x->text, ':'))
		sqlite3_result_int64(to, (int64_t)result[0]);
	else
		dt_sql_put_value(to, x->text + 3, (size_t)(end - x->text - 3));
}

/* Gives whether the call failed, where its function's signature says when it does; or why, by the
 * error's name. */
static void put_failure(struct scan *x, sqlite3_context *to, const struct row *r, int column)
{
	uint32_t error;
	enum dt_outcome outcome =
		dt_failures_outcome(&x->failures, r->call.function, result_of(r), &error);
	const char *name = dt_failure_name(error);

	if (column == FAILED && outcome != DT_OUTCOME_UNKNOWN)
		sqlite3_result_int(to, outcome == DT_OUTCOME_FAILED);
	if (column == ERRNO && name)
		dt_sql_put_text(to, name);
	else if (column == ERRNO && error)
		sqlite3_result_int(to, (int)error);
	if (x->failures.no_memory)
		sqlite3_result_error_nomem(to);
}

static void put_number(sqlite3_context *to, int64_t v, bool known)
{
	if (known)
		sqlite3_result_int64(to, v);
}

static void put_times(struct scan *x, sqlite3_context *to, const struct dt_call *c, int column)
{
	bool begun = !(c->flags & DT_CALL_NO_ENTRY), ended = !(c->flags & DT_CALL_NO_EXIT);
	uint64_t took = dt_call_ticks(c);

	if (column == BEGIN)
		put_number(to, dt_sql_ns(x->of->pass, c->begin), begun);
	else if (column == END)
		put_number(to, dt_sql_ns(x->of->pass, c->end), ended);
	else if (column == BEGIN_TICKS)
		put_number(to, (int64_t)c->begin, begun);
	else if (column == END_TICKS)
		put_number(to, (int64_t)c->end, ended);
	else if (begun && ended && column == DURATION)
		dt_sql_put_duration(to, (double)took * dt_reader_ns_per_tick(x->of->pass->reader));
	else if (begun && ended)
		dt_sql_put_duration(to, (double)(took > c->children ? took - c->children : 0) *
						dt_reader_ns_per_tick(x->of->pass->reader));
}

/* Gives what the longest wait was for, who ended it, or how much later the thread ran; NULL: that
 * is not known. */
static void put_longest(struct scan *x, sqlite3_context *to, const struct dt_call *c, int column)
{
	const struct dt_waker *by = dt_pair_waker(x->pair, c->woken[0]);
	char text[DT_WAKER_TEXT];

	if (column == WAITED_FOR) {
		if (c->waited_for[0])
			dt_sql_put_text(to, dt_pair_waited_for(x->pair, c->waited_for[0]));
		return;
	}
	if (!by)
		return;
	if (column == RUN_LATENCY) {
		dt_sql_put_duration(to, (double)c->queued[0] *
						dt_reader_ns_per_tick(x->of->pass->reader));
		return;
	}
	*dt_waker_put(text, x->of->pass->reader, by, true) = '\0';
	dt_sql_put_text(to, text);
}

/* Gives a part of a call's time; NULL if switches do not tell it. */
static void put_wait(struct scan *x, sqlite3_context *to, const struct dt_call *c, int column)
{
	uint64_t ticks = column == WAITED	 ? c->waited
			 : column == SELF_WAITED ? c->waited_self
			 : column == PREEMPTED	 ? c->preempted
						 : c->unseen;

	if (x->waits && !(c->flags & (DT_CALL_NO_ENTRY | DT_CALL_NO_EXIT)))
		dt_sql_put_duration(to, (double)ticks * dt_reader_ns_per_tick(x->of->pass->reader));
}

void dt_sql_calls_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	struct scan *x = s->state;
	struct row *r = &x->row[x->first - 1];
	struct dt_call *c = &r->call;

	switch (column) {
	case ID:
		put_number(to, dt_sql_calls_id(x, c), !(c->flags & DT_CALL_NO_ENTRY));
		break;
	case PARENT:
		put_number(to, r->parent, r->parent != 0);
		break;
	case DEPTH:
		sqlite3_result_int64(to, c->depth);
		break;
	case THREAD:
		dt_sql_put_thread(to, c->tid);
		break;
	case PROCESS:
		dt_sql_put_process(s, to, c->tid);
		break;
	case CORE:
		dt_sql_put_core(to, r->core);
		break;
	case FUNCTION:
		dt_sql_put_function(s, to, c->function);
		break;
	case MODULE:
		dt_sql_put_module(s, to, c->function);
		break;
	case ENDED:
		dt_sql_put_text(to, dt_call_ended(c));
		break;
	case TIMED:
		sqlite3_result_int(to, !(c->flags & DT_CALL_UNTIMED));
		break;
	case RECURSIVE:
		sqlite3_result_int(to, (c->flags & DT_CALL_RECURSIVE) != 0);
		break;
	case TEXT:
		put_text(x, to, r);
		break;
	case ARGUMENTS:
		put_arguments(x, to, r);
		break;
	case ARG0:
	case ARG1:
	case ARG2:
	case ARG3:
		put_argument(x, to, r, (unsigned)(column - ARG0));
		break;
	case RESULT:
		put_result(x, to, r);
		break;
	case RESULT0:
		put_number(to, (int64_t)r->result[0], c->result && has_value(x, c->exit, 0));
		break;
	case FLAGS:
		sqlite3_result_int64(to, c->flags);
		break;
	case FAILED:
	case ERRNO:
		put_failure(x, to, r, column);
		break;
	case WAITED:
	case SELF_WAITED:
	case PREEMPTED:
	case UNSEEN:
		put_wait(x, to, c, column);
		break;
	case WAITED_FOR:
	case WOKEN_BY:
	case RUN_LATENCY:
		put_longest(x, to, c, column);
		break;
	default:
		put_times(x, to, c, column);
	}
}
