/* SPDX-License-Identifier: MIT */
/* The rows of the table calls: of calls that have ended, and of those that never did. */
#include "sql/calls-work.h"

#include <stdlib.h>
#include <string.h>

static struct row *new_row(struct scan *x)
{
	if (x->n == x->room) {
		size_t room = x->room ? 2 * x->room : 256;
		struct row *more = realloc(x->row, room * sizeof(*more));

		if (!more) {
			x->failed = true;
			return NULL;
		}
		x->row = more;
		x->room = room;
	}
	return &x->row[x->n++];
}

static bool is_wanted(const struct scan *x, const struct dt_call *c)
{
	const struct dt_sql_want *w = &x->of->want;

	if (!dt_sql_wants_function(x->of, c->function) || !dt_sql_in(&w->end, c->end))
		return false;
	return c->flags & DT_CALL_NO_ENTRY ? x->orphans : dt_sql_in(&w->begin, c->begin);
}

static uint16_t core_of(const struct scan *x, const struct dt_call *c)
{
	return c->flags & DT_CALL_OPEN ? DT_SHARED_CORE : dt_span_core_at(&x->span, c->end);
}

static void add_open(struct scan *x, const struct dt_call *c)
{
	if (x->opens == x->open_room) {
		size_t room = x->open_room ? 2 * x->open_room : 64;
		struct open_call *more = realloc(x->open, room * sizeof(*more));

		if (!more) {
			x->failed = true;
			return;
		}
		x->open = more;
		x->open_room = room;
	}
	x->open[x->opens++] = (struct open_call){c->id, dt_sql_calls_id(x, c)};
}

static void add_row(struct scan *x, const struct dt_call *c)
{
	const struct dt_call *caller = NULL;
	struct row *r = new_row(x);

	if (!r)
		return;
	r->call = *c;
	r->call.note = NULL;
	if (c->argument)
		r->call.argument = memcpy(r->argument, c->argument, sizeof(r->argument));
	if (c->result)
		r->call.result = memcpy(r->result, c->result, sizeof(r->result));
	r->full = dt_full_take(&x->further.fulls, c->id);
	r->core = core_of(x, c);
	r->parent = 0;
	/* for open calls: dt_sql_calls_find_callers(), when all are known */
	if (!(c->flags & DT_CALL_OPEN) && x->of->want.columns >> PARENT & 1) {
		dt_pair_callers(x->pair, dt_sql_calls_take_caller, &caller);
		r->parent = caller ? dt_sql_calls_id(x, caller) : 0;
	}
}

/* Returns whether a call could be asked for, whenever it ends. */
static bool is_counted(const struct scan *x, const struct dt_call *c)
{
	return x->counts && !(c->flags & DT_CALL_NO_ENTRY) &&
	       dt_sql_in(&x->of->want.begin, c->begin) && dt_sql_wants_function(x->of, c->function);
}

void dt_sql_calls_on_begin(void *ctx, const struct dt_call *c)
{
	struct scan *x = ctx;

	x->open_now += is_counted(x, c);
}

void dt_sql_calls_on_end(void *ctx, const struct dt_call *c)
{
	struct scan *x = ctx;

	x->open_now -= is_counted(x, c);
	if (c->flags & DT_CALL_OPEN)
		add_open(x, c);
	if (is_wanted(x, c))
		add_row(x, c);
	else
		dt_full_forget(&x->further.fulls, c->id);
	/* all calls that it made have ended before */
	if (x->of->want.one_parent && dt_sql_calls_id(x, c) == x->of->want.parent)
		x->over = true;
}

static int by_number(const void *a, const void *b)
{
	const struct open_call *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Sets the callers of calls that were open at the end, when all of these are known. */
void dt_sql_calls_find_callers(struct scan *x)
{
	if (x->opens)
		qsort(x->open, x->opens, sizeof(*x->open), by_number);
	for (size_t i = x->first; i < x->n; i++) {
		struct open_call key = {x->row[i].call.parent, 0}, *found = NULL;

		if (!(x->row[i].call.flags & DT_CALL_OPEN))
			continue;
		if (key.number && x->opens)
			found = bsearch(&key, x->open, x->opens, sizeof(key), by_number);
		x->row[i].parent = found ? found->id : 0;
	}
}

/* Adds the calls that never ended, if the run does not go to the end of the trace. */
void dt_sql_calls_add_late(struct scan *x)
{
	const struct dt_pyramid *p = dt_sql_pyramid(x->of->pass);

	for (size_t i = 0; i < p->lates; i++) {
		if (!dt_sql_wants_thread(x->of, p->late[i].tid))
			continue;
		add_open(x, &p->late[i]);
		if (is_wanted(x, &p->late[i]))
			add_row(x, &p->late[i]);
	}
}

/* Frees the rows, which have been handed out. */
void dt_sql_calls_forget_rows(struct scan *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->row[i].full.text);
	x->first = x->n = 0;
}
