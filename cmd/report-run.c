/* SPDX-License-Identifier: MIT */
/*
 * What a run took beside the calls that were recorded: of a trace of the calls of libraries, the
 * program's own time. A thread's time is from its first record to its last one; that of a process's
 * first thread, from the beginning of the process to its end.
 */
#include "cmd/report-work.h"

#include <stdio.h>
#include <stdlib.h>

struct dt_report_thread {
	uint32_t tid;
	uint64_t first, last; /* ticks of its records */
	uint64_t self;	      /* ticks in the calls that the table has */
	bool runs;	      /* it has calls, or is a process: others are met in switches only */
};

/* Returns what is known of a thread, adding it; NULL: out of memory, which is noted. */
static struct dt_report_thread *thread_of(struct dt_report_run *run, uint32_t tid)
{
	struct dt_report_thread *more;
	uint32_t place = dt_pids_get(&run->place, tid);

	if (place)
		return &run->thread[place - 1];
	if (run->n == run->room) {
		size_t room = run->room ? 2 * run->room : 16;

		more = realloc(run->thread, room * sizeof(*more));
		if (!more) {
			run->own.no_memory = true;
			return NULL;
		}
		run->thread = more;
		run->room = room;
	}
	if (dt_pids_set(&run->place, tid, (uint32_t)run->n + 1) < 0) {
		run->own.no_memory = true;
		return NULL;
	}
	run->thread[run->n] = (struct dt_report_thread){.tid = tid, .first = UINT64_MAX};
	return &run->thread[run->n++];
}

void dt_report_run_span(struct dt_report_run *run, const struct dt_span *s)
{
	struct dt_report_thread *t = run->wanted && s->n ? thread_of(run, s->tid) : NULL;

	if (!t)
		return;
	if (s->ticks[0] < t->first)
		t->first = s->ticks[0];
	if (s->ticks[s->n - 1] > t->last)
		t->last = s->ticks[s->n - 1];
}

void dt_report_run_call(struct dt_report_run *run, const struct dt_call *c)
{
	struct dt_report_thread *t =
		run->wanted && !(c->flags & DT_CALL_UNTIMED) ? thread_of(run, c->tid) : NULL;
	uint64_t ticks = dt_call_ticks(c);

	if (t)
		t->runs = true;
	if (t && ticks > c->children)
		t->self += ticks - c->children;
}

/* The first threads' times are their processes'. */
static void take_processes(const struct dt_reader *r, struct dt_report_run *run)
{
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(r, &n);

	for (size_t i = 0; i < n; i++) {
		uint32_t place = dt_pids_get(&run->place, p[i].pid);
		struct dt_report_thread *t = place ? &run->thread[place - 1] : NULL;

		if (!t)
			continue;
		t->runs = true;
		if (p[i].begin_ticks && p[i].begin_ticks < t->first)
			t->first = p[i].begin_ticks;
		if (p[i].end_ticks > t->last)
			t->last = p[i].end_ticks;
	}
}

/* Returns the ticks in which the tracer held a thread. */
static uint64_t held_of(const struct dt_reader *r, const struct dt_report_thread *t)
{
	uint64_t sum = 0;
	size_t n;
	const struct dt_times *x = dt_reader_thread_holds(r, t->tid, &n);

	for (size_t i = 0; i < n; i++) {
		uint64_t from = x[i].begin > t->first ? x[i].begin : t->first;
		uint64_t to = x[i].end < t->last ? x[i].end : t->last;

		sum += to > from ? to - from : 0;
	}
	return sum;
}

static void print_line(const struct report *o, const struct dt_stats *s, const char *what)
{
	struct dt_function_stats sum = s->function[0];

	/* threads that ran at a time all count */
	sum.total = sum.self = sum.sum;
	dt_report_print_columns(o, &sum, true);
	puts(what);
}

void dt_report_run_print(const struct report *o, struct dt_report_run *run)
{
	take_processes(o->reader, run);
	for (size_t i = 0; run->wanted && i < run->n; i++) {
		struct dt_report_thread *t = &run->thread[i];
		struct dt_call whole = {.tid = t->tid}, own = {.tid = t->tid};
		uint64_t held;

		held = held_of(o->reader, t);
		if (!t->runs || t->last <= t->first)
			continue;
		whole.end = t->last - t->first > held ? t->last - t->first - held : 0;
		own.end = whole.end > t->self ? whole.end - t->self : 0;
		dt_stats_call(&run->own, &own);
		dt_stats_call(&run->all, &whole);
	}
	if (run->own.no_memory || run->all.no_memory || !run->all.functions)
		return;
	print_line(o, &run->own,
		   "outside of calls of libraries, by thread: the program's own code, and "
		   "devtrace's hooks");
	print_line(o, &run->all, "the whole run");
}

void dt_report_run_free(struct dt_report_run *run)
{
	free(run->thread);
	dt_pids_free(&run->place);
	dt_stats_free(&run->own);
	dt_stats_free(&run->all);
}
