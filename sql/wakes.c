/* SPDX-License-Identifier: MIT */
/*
 * Table wakes: a row for each time that a thread was woken (record --wakers), with the switch that
 * followed. It comes when that is known, or that there is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/walk.h"
#include "store/backtraces.h"
#include "store/wakers.h"

enum {
	TIME,
	THREAD,
	PROCESS,
	NAME,
	CORE,
	WAKER,
	WAKER_PROCESS,
	WAKER_NAME,
	CONTEXT,
	MADE,
	FUNCTION,
	RAN,
	LATENCY,
	STACK,
	TICKS,
};

static const struct dt_sql_column columns[] = {
	[TIME] = {"time", "INTEGER", DT_SQL_PLAIN},
	[THREAD] = {"thread", "INTEGER", DT_SQL_PLAIN},
	[PROCESS] = {"process", "INTEGER", DT_SQL_PLAIN},
	[NAME] = {"name", "TEXT", DT_SQL_PLAIN},
	[CORE] = {"core", "INTEGER", DT_SQL_PLAIN},
	[WAKER] = {"waker", "INTEGER", DT_SQL_PLAIN},
	[WAKER_PROCESS] = {"waker_process", "INTEGER", DT_SQL_PLAIN},
	[WAKER_NAME] = {"waker_name", "TEXT", DT_SQL_PLAIN},
	[CONTEXT] = {"context", "TEXT", DT_SQL_PLAIN},
	[MADE] = {"made", "INTEGER", DT_SQL_PLAIN},
	[FUNCTION] = {"function", "TEXT", DT_SQL_PLAIN},
	[RAN] = {"ran", "INTEGER", DT_SQL_PLAIN},
	[LATENCY] = {"latency", "INTEGER", DT_SQL_PLAIN},
	[STACK] = {"stack", "TEXT", DT_SQL_PLAIN},
	[TICKS] = {"ticks", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

/* A thread is woken so many ns before the switch with which it leaves its core: then it had left it
 * already. */
#define EARLY_NS 2000

struct row {
	uint32_t tid, waker;
	uint16_t core;
	uint64_t ticks, ran; /* ran 0: it is not known when, or it was running */
};

/* What is known of a thread. */
struct thread {
	uint32_t tid; /* 0: the place is free */
	bool runs, pending;
	struct row wake; /* if pending */
};

struct scan {
	struct dt_sql_walk walk;
	struct dt_wakers wakers;
	struct dt_backtraces stacks;
	bool has_stacks, over, no_memory;
	struct thread *thread; /* open addressing */
	size_t n, room, at;    /* at: of those left at the end */
	uint32_t on[DT_FURTHER_CORES];
	uint64_t early; /* ticks */
	struct row ready[2], row;
	unsigned rows; /* ready */
};

static struct thread *place_of(struct thread *all, size_t room, uint32_t tid)
{
	size_t i = tid * 2654435761u & (room - 1);

	while (all[i].tid && all[i].tid != tid)
		i = (i + 1) & (room - 1);
	return &all[i];
}

static struct thread *thread_of(struct scan *x, uint32_t tid)
{
	struct thread *t;

	if (2 * x->n >= x->room) {
		size_t room = x->room ? 2 * x->room : 64;
		struct thread *more = calloc(room, sizeof(*more));

		if (!more) {
			x->no_memory = true;
			return NULL;
		}
		for (size_t i = 0; i < x->room; i++)
			if (x->thread[i].tid)
				*place_of(more, room, x->thread[i].tid) = x->thread[i];
		free(x->thread);
		x->thread = more;
		x->room = room;
	}
	t = place_of(x->thread, x->room, tid);
	x->n += !t->tid;
	t->tid = tid;
	return t;
}

/* Gives out the wake-up that is pending. */
static void give(struct scan *x, struct thread *t, uint64_t ran)
{
	if (!t->pending)
		return;
	t->pending = false;
	t->wake.ran = ran;
	x->ready[x->rows++] = t->wake;
}

static void take_wake(struct scan *x, struct thread *t)
{
	const struct dt_span *s = &x->walk.span;
	uint32_t i = x->walk.at;

	give(x, t, 0);
	t->pending = true;
	t->wake = (struct row){.tid = s->tid,
			       .waker = DT_WAKER_OF(s->sp[i]),
			       .core = dt_sql_walk_core(&x->walk),
			       .ticks = s->ticks[i]};
}

static void take_switch(struct scan *x, struct thread *comes)
{
	const struct dt_span *s = &x->walk.span;
	uint64_t now = s->ticks[x->walk.at];
	struct thread *left;

	if (s->core >= DT_FURTHER_CORES)
		return;
	left = x->on[s->core] ? place_of(x->thread, x->room, x->on[s->core]) : NULL;
	x->on[s->core] = comes ? comes->tid : 0;
	if (left && left != comes && left->tid) {
		left->runs = false;
		if (left->pending && left->wake.ticks + x->early < now)
			give(x, left, 0);
	}
	if (!comes)
		return;
	if (!comes->runs)
		give(x, comes, now);
	comes->runs = true;
}

static void take(struct scan *x)
{
	uint8_t kind = dt_sql_walk_site(&x->walk)->kind;
	uint32_t tid = x->walk.span.tid;
	struct thread *t;

	if (kind != DT_WAKE && kind != DT_SWITCH)
		return;
	t = tid == DT_NO_TID ? NULL : thread_of(x, tid);
	if (kind == DT_SWITCH && !x->no_memory)
		take_switch(x, t);
	else if (t)
		take_wake(x, t);
}

static int begin(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = calloc(1, sizeof(*x));

	s->state = x;
	if (!x)
		return dt_fail(e, "out of memory");
	x->early = (uint64_t)(EARLY_NS / dt_reader_ns_per_tick(s->pass->reader)) + 1;
	return dt_sql_walk_begin(&x->walk, s->pass->reader, 0, UINT64_MAX, false, e);
}

static int next(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = s->state;
	int rc;

	while (!x->rows && !x->over) {
		rc = dt_sql_walk_next(&x->walk, e);
		if (rc < 0)
			return rc;
		x->over = rc == 0;
		if (rc > 0)
			take(x);
		if (x->no_memory)
			return dt_fail(e, "out of memory");
	}
	for (; !x->rows && x->at < x->room; x->at++)
		give(x, &x->thread[x->at], 0);
	if (!x->rows)
		return 0;
	x->row = x->ready[0];
	x->ready[0] = x->ready[1];
	x->rows--;
	return 1;
}

/* Gives the kernel's stack as flame graphs have it: the outermost function first. */
static void put_stack(struct dt_sql_scan *s, sqlite3_context *to, int64_t id)
{
	struct scan *x = s->state;
	const struct dt_reader *r = s->pass->reader;
	const struct dt_stack_read *stack;
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	if (!x->has_stacks && dt_backtraces_load(&x->stacks, s->pass->reader, NULL) < 0)
		memset(&x->stacks, 0, sizeof(x->stacks));
	x->has_stacks = true;
	stack = dt_backtraces_stack(&x->stacks, id);
	if (!stack || !(f = open_memstream(&text, &size)))
		return;
	for (size_t i = stack->n; i-- > 0;) {
		const struct dt_function_info *function =
			dt_reader_function(r, stack->frame[i].function);

		fprintf(f, "%s%s", function ? function->name : "?", i ? ";" : "");
	}
	if (fclose(f) == 0)
		dt_sql_put_text(to, text);
	free(text);
}

/* Gives a column that tells of the waker. */
static void put_waker(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	struct scan *x = s->state;
	const struct dt_waker *w = dt_wakers_row(&x->wakers, s->pass->reader, x->row.waker);

	if (!w)
		return;
	switch (column) {
	case WAKER:
		if (w->tid)
			dt_sql_put_thread(to, w->tid);
		break;
	case WAKER_PROCESS:
		if (w->pid)
			sqlite3_result_int64(to, w->pid);
		break;
	case WAKER_NAME:
		dt_sql_put_text(to, w->name);
		break;
	case CONTEXT:
		dt_sql_put_text(to, dt_waker_context(w));
		break;
	case MADE:
		sqlite3_result_int(to, w->made);
		break;
	case FUNCTION:
		if (w->function)
			dt_sql_put_function(s, to, w->function);
		break;
	case STACK:
		if (w->stack)
			put_stack(s, to, w->stack);
		break;
	}
}

static void value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	struct scan *x = s->state;
	const struct row *r = &x->row;
	const struct dt_thread_info *t;

	switch (column) {
	case TIME:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, r->ticks));
		break;
	case THREAD:
		dt_sql_put_thread(to, r->tid);
		break;
	case PROCESS:
		dt_sql_put_process(s, to, r->tid);
		break;
	case NAME:
		t = dt_reader_thread(s->pass->reader, r->tid);
		if (t)
			dt_sql_put_text(to, t->name);
		break;
	case CORE:
		dt_sql_put_core(to, r->core);
		break;
	case RAN:
		if (r->ran)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, r->ran));
		break;
	case LATENCY:
		if (r->ran)
			dt_sql_put_duration(to,
					    (double)(r->ran > r->ticks ? r->ran - r->ticks : 0) *
						    dt_reader_ns_per_tick(s->pass->reader));
		break;
	case TICKS:
		sqlite3_result_int64(to, (int64_t)r->ticks);
		break;
	default:
		put_waker(s, to, column);
	}
}

static void end(struct dt_sql_scan *s)
{
	struct scan *x = s->state;

	if (!x)
		return;
	dt_wakers_free(&x->wakers);
	if (x->has_stacks)
		dt_backtraces_free(&x->stacks);
	free(x->thread);
	free(x);
}

const struct dt_sql_table dt_sql_wakes = {
	.name = "wakes",
	.column = columns,
	.begin = begin,
	.next = next,
	.value = value,
	.end = end,
};
