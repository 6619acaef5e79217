/* SPDX-License-Identifier: MIT */
/* Tables that are not made from records: lost, pauses, changes, held, threads, processes,
 * functions; and activities for files that have none. */
#include <stdlib.h>
#include <string.h>

#include "sql/table.h"

/* ---- lists: a row is a number ---- */

struct list {
	size_t at, n; /* at: index of the current row, plus one */
	struct loss *loss;
	struct dt_pause *pause;
	struct dt_change *change;
	struct held *held;
	bool failed;
};

static int next_of_list(struct dt_sql_scan *s, struct dt_error *e)
{
	struct list *l = s->state;

	return l->at < l->n ? (l->at++, 1) : 0;
}

static int begin_list(struct dt_sql_scan *s, size_t n, struct dt_error *e)
{
	struct list *l = calloc(1, sizeof(*l));

	s->state = l;
	if (!l)
		return dt_fail(e, "out of memory");
	l->n = n;
	return 0;
}

static void put_count(sqlite3_context *to, uint64_t v)
{
	if (v)
		sqlite3_result_int64(to, (int64_t)v);
}

/* ---- lost ---- */

struct loss {
	uint64_t lost, begin, end;
	uint16_t core;
};

enum { L_CORE, L_RECORDS, L_BEGIN, L_END };

static const struct dt_sql_column lost_columns[] = {
	[L_CORE] = {"core", "INTEGER", DT_SQL_PLAIN},
	[L_RECORDS] = {"records", "INTEGER", DT_SQL_PLAIN},
	[L_BEGIN] = {"begin", "INTEGER", DT_SQL_PLAIN},
	[L_END] = {"end", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int on_loss(void *ctx, const struct dt_lost *lost)
{
	struct list *l = ctx;
	struct loss *more =
		l->n & (l->n + 1) ? l->loss : realloc(l->loss, 2 * (l->n + 1) * sizeof(*more));

	if (!more) {
		l->failed = true;
		return 1;
	}
	l->loss = more;
	l->loss[l->n++] = (struct loss){lost->lost, lost->begin, lost->end, (uint16_t)lost->core};
	return 0;
}

static int begin_lost(struct dt_sql_scan *s, struct dt_error *e)
{
	struct list *l;

	if (begin_list(s, 0, e) < 0)
		return -1;
	l = s->state;
	if (dt_reader_losses(s->pass->reader, on_loss, l) < 0)
		return dt_fail(e, "%s: the trace cannot be read", s->pass->source->path);
	return l->failed ? dt_fail(e, "out of memory") : 0;
}

static void lost_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct list *l = s->state;
	const struct loss *x = &l->loss[l->at - 1];

	switch (column) {
	case L_CORE:
		dt_sql_put_core(to, dt_reader_ring_core(s->pass->reader, x->core));
		break;
	case L_RECORDS:
		sqlite3_result_int64(to, (int64_t)x->lost);
		break;
	case L_BEGIN:
		/* 0: nothing came before the loss */
		if (x->begin)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, x->begin));
		break;
	default:
		if (x->end)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, x->end));
	}
}

static void end_list(struct dt_sql_scan *s)
{
	struct list *l = s->state;

	free(l->loss);
	free(l->pause);
	for (size_t i = 0; l->change && i < l->n; i++)
		free((char *)l->change[i].command);
	free(l->change);
	free(l->held);
	free(l);
}

const struct dt_sql_table dt_sql_lost = {
	.name = "lost",
	.column = lost_columns,
	.begin = begin_lost,
	.next = next_of_list,
	.value = lost_value,
	.end = end_list,
	.small = true,
};

/* ---- pauses ---- */

enum { U_BEGIN, U_END, U_DURATION, U_WHY, U_TIMES, U_MISSED };

static const struct dt_sql_column pauses_columns[] = {
	[U_BEGIN] = {"begin", "INTEGER", DT_SQL_PLAIN},
	[U_END] = {"end", "INTEGER", DT_SQL_PLAIN},
	[U_DURATION] = {"duration", "INTEGER", DT_SQL_PLAIN},
	[U_WHY] = {"why", "TEXT", DT_SQL_PLAIN},
	[U_TIMES] = {"times", "INTEGER", DT_SQL_PLAIN},
	[U_MISSED] = {"missed", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int on_pause(void *ctx, const struct dt_pause *p)
{
	struct list *l = ctx;
	struct dt_pause *more =
		l->n & (l->n + 1) ? l->pause : realloc(l->pause, 2 * (l->n + 1) * sizeof(*more));

	if (!more) {
		l->failed = true;
		return 1;
	}
	l->pause = more;
	l->pause[l->n++] = *p;
	return 0;
}

static int begin_pauses(struct dt_sql_scan *s, struct dt_error *e)
{
	struct list *l;

	if (begin_list(s, 0, e) < 0)
		return -1;
	l = s->state;
	if (dt_reader_pauses(s->pass->reader, on_pause, l) < 0)
		return dt_fail(e, "%s: the trace cannot be read", s->pass->source->path);
	return l->failed ? dt_fail(e, "out of memory") : 0;
}

static void pauses_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct list *l = s->state;
	const struct dt_pause *x = &l->pause[l->at - 1];

	switch (column) {
	case U_BEGIN:
		/* 0: it began before the first record */
		if (x->begin)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, x->begin));
		break;
	case U_END:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, x->end));
		break;
	case U_DURATION:
		if (x->begin)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, x->end) -
							 dt_sql_ns(s->pass, x->begin));
		break;
	case U_WHY:
		sqlite3_result_text(to, x->stopped ? "stopped" : "frozen", -1, SQLITE_STATIC);
		break;
	case U_TIMES:
		sqlite3_result_int64(to, (int64_t)x->times);
		break;
	default:
		if (x->missed != DT_NOT_KNOWN)
			sqlite3_result_int64(to, (int64_t)x->missed);
	}
}

const struct dt_sql_table dt_sql_pauses = {
	.name = "pauses",
	.column = pauses_columns,
	.begin = begin_pauses,
	.next = next_of_list,
	.value = pauses_value,
	.end = end_list,
	.small = true,
};

/* ---- changes ---- */

enum { G_BEGIN, G_END, G_OFF, G_COMMAND };

static const struct dt_sql_column changes_columns[] = {
	[G_BEGIN] = {"begin", "INTEGER", DT_SQL_PLAIN},
	[G_END] = {"end", "INTEGER", DT_SQL_PLAIN},
	[G_OFF] = {"off", "INTEGER", DT_SQL_PLAIN},
	[G_COMMAND] = {"command", "TEXT", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int on_change(void *ctx, const struct dt_change *c)
{
	struct list *l = ctx;
	struct dt_change *more =
		l->n & (l->n + 1) ? l->change : realloc(l->change, 2 * (l->n + 1) * sizeof(*more));
	char *command = strdup(c->command);

	if (more)
		l->change = more;
	if (!more || !command) {
		free(command);
		l->failed = true;
		return 1;
	}
	l->change[l->n++] = (struct dt_change){c->begin, c->end, command, c->off};
	return 0;
}

static int begin_changes(struct dt_sql_scan *s, struct dt_error *e)
{
	struct list *l;

	if (begin_list(s, 0, e) < 0)
		return -1;
	l = s->state;
	if (dt_reader_changes(s->pass->reader, on_change, l) < 0)
		return dt_fail(e, "%s: the trace cannot be read", s->pass->source->path);
	return l->failed ? dt_fail(e, "out of memory") : 0;
}

static void changes_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct list *l = s->state;
	const struct dt_change *x = &l->change[l->at - 1];

	if (column == G_COMMAND)
		sqlite3_result_text(to, x->command, -1, SQLITE_TRANSIENT);
	else if (column == G_OFF)
		sqlite3_result_int(to, x->off);
	else
		sqlite3_result_int64(to, dt_sql_ns(s->pass, column == G_BEGIN ? x->begin : x->end));
}

const struct dt_sql_table dt_sql_changes = {
	.name = "changes",
	.column = changes_columns,
	.begin = begin_changes,
	.next = next_of_list,
	.value = changes_value,
	.end = end_list,
	.small = true,
};

/* ---- held ---- */

struct held {
	uint64_t begin, end;
	uint32_t tid;
	char why[16];
};

enum { H_THREAD, H_PROCESS, H_BEGIN, H_END, H_DURATION, H_WHY };

static const struct dt_sql_column held_columns[] = {
	[H_THREAD] = {"thread", "INTEGER", DT_SQL_PLAIN},
	[H_PROCESS] = {"process", "INTEGER", DT_SQL_PLAIN},
	[H_BEGIN] = {"begin", "INTEGER", DT_SQL_PLAIN},
	[H_END] = {"end", "INTEGER", DT_SQL_PLAIN},
	[H_DURATION] = {"duration", "INTEGER", DT_SQL_PLAIN},
	[H_WHY] = {"why", "TEXT", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int on_held(void *ctx, const struct dt_held_row *h)
{
	struct list *l = ctx;
	struct held *more =
		l->n & (l->n + 1) ? l->held : realloc(l->held, 2 * (l->n + 1) * sizeof(*more));

	if (!more) {
		l->failed = true;
		return 1;
	}
	l->held = more;
	more = &l->held[l->n++];
	*more = (struct held){.begin = h->begin, .end = h->end, .tid = h->tid};
	dt_format(more->why, sizeof(more->why), "%s", h->why);
	return 0;
}

static int begin_held(struct dt_sql_scan *s, struct dt_error *e)
{
	struct list *l;

	if (begin_list(s, 0, e) < 0)
		return -1;
	l = s->state;
	if (dt_reader_helds(s->pass->reader, on_held, l) < 0)
		return dt_fail(e, "%s: the trace cannot be read", s->pass->source->path);
	return l->failed ? dt_fail(e, "out of memory") : 0;
}

static void held_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct list *l = s->state;
	const struct held *x = &l->held[l->at - 1];

	switch (column) {
	case H_THREAD:
		dt_sql_put_thread(to, x->tid);
		break;
	case H_PROCESS:
		dt_sql_put_process(s, to, x->tid);
		break;
	case H_BEGIN:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, x->begin));
		break;
	case H_END:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, x->end));
		break;
	case H_DURATION:
		dt_sql_put_duration(to, (double)(x->end - x->begin) *
						dt_reader_ns_per_tick(s->pass->reader));
		break;
	default:
		sqlite3_result_text(to, x->why, -1, SQLITE_TRANSIENT);
	}
}

const struct dt_sql_table dt_sql_held = {
	.name = "held",
	.column = held_columns,
	.begin = begin_held,
	.next = next_of_list,
	.value = held_value,
	.end = end_list,
	.small = true,
};

/* ---- threads ---- */

enum { T_THREAD, T_PROCESS, T_NAME, T_NUMBER };

static const struct dt_sql_column thread_columns[] = {
	[T_THREAD] = {"thread", "INTEGER", DT_SQL_PLAIN},
	[T_PROCESS] = {"process", "INTEGER", DT_SQL_PLAIN},
	[T_NAME] = {"name", "TEXT", DT_SQL_PLAIN},
	[T_NUMBER] = {"number", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int begin_threads(struct dt_sql_scan *s, struct dt_error *e)
{
	size_t n;

	dt_reader_threads(s->pass->reader, &n);
	return begin_list(s, n, e);
}

static void thread_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct list *l = s->state;
	size_t n;
	const struct dt_thread_info *t = &dt_reader_threads(s->pass->reader, &n)[l->at - 1];

	if (column == T_THREAD)
		sqlite3_result_int64(to, t->tid);
	else if (column == T_PROCESS)
		put_count(to, t->pid);
	else if (column == T_NAME)
		dt_sql_put_text(to, t->name);
	else
		sqlite3_result_int64(to, dt_reader_number(s->pass->reader, t->tid));
}

const struct dt_sql_table dt_sql_threads = {
	.name = "threads",
	.column = thread_columns,
	.begin = begin_threads,
	.next = next_of_list,
	.value = thread_value,
	.end = end_list,
	.small = true,
};

/* ---- processes ---- */

enum { P_PROCESS, P_PARENT, P_NAME, P_PROGRAM, P_COMMAND, P_BEGIN, P_END, P_STATUS, P_NUMBER };

static const struct dt_sql_column process_columns[] = {
	[P_PROCESS] = {"process", "INTEGER", DT_SQL_PLAIN},
	[P_PARENT] = {"parent", "INTEGER", DT_SQL_PLAIN},
	[P_NAME] = {"name", "TEXT", DT_SQL_PLAIN},
	[P_PROGRAM] = {"program", "TEXT", DT_SQL_PLAIN},
	[P_COMMAND] = {"command", "TEXT", DT_SQL_PLAIN},
	[P_BEGIN] = {"begin", "INTEGER", DT_SQL_PLAIN},
	[P_END] = {"end", "INTEGER", DT_SQL_PLAIN},
	[P_STATUS] = {"status", "INTEGER", DT_SQL_PLAIN},
	[P_NUMBER] = {"number", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int begin_processes(struct dt_sql_scan *s, struct dt_error *e)
{
	size_t n;

	dt_reader_processes(s->pass->reader, &n);
	return begin_list(s, n, e);
}

static void process_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct list *l = s->state;
	size_t n;
	const struct dt_process_info *p = &dt_reader_processes(s->pass->reader, &n)[l->at - 1];
	const char *slash = strrchr(p->exe, '/');

	switch (column) {
	case P_PROCESS:
		sqlite3_result_int64(to, p->pid);
		break;
	case P_PARENT:
		put_count(to, p->ppid);
		break;
	case P_NAME:
		dt_sql_put_text(to, slash ? slash + 1 : p->exe);
		break;
	case P_PROGRAM:
		dt_sql_put_text(to, p->exe);
		break;
	case P_COMMAND:
		dt_sql_put_text(to, p->cmdline);
		break;
	case P_BEGIN:
		if (p->begin_ticks)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, p->begin_ticks));
		break;
	case P_END:
		if (p->end_ticks)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, p->end_ticks));
		break;
	case P_NUMBER:
		sqlite3_result_int64(to, dt_reader_number(s->pass->reader, p->pid));
		break;
	default:
		if (p->status >= 0)
			sqlite3_result_int(to, p->status);
	}
}

const struct dt_sql_table dt_sql_processes = {
	.name = "processes",
	.column = process_columns,
	.begin = begin_processes,
	.next = next_of_list,
	.value = process_value,
	.end = end_list,
	.small = true,
};

/* ---- functions ---- */

enum { F_ID, F_NAME, F_MODULE, F_ADDRESS, F_SIZE, F_SOURCE, F_LINE, F_SIGNATURE, F_PROCESS };

static const struct dt_sql_column function_columns[] = {
	[F_ID] = {"id", "INTEGER", DT_SQL_PLAIN},
	[F_NAME] = {"name", "TEXT", DT_SQL_PLAIN},
	[F_MODULE] = {"module", "TEXT", DT_SQL_PLAIN},
	[F_ADDRESS] = {"address", "INTEGER", DT_SQL_PLAIN},
	[F_SIZE] = {"size", "INTEGER", DT_SQL_PLAIN},
	[F_SOURCE] = {"source", "TEXT", DT_SQL_PLAIN},
	[F_LINE] = {"line", "INTEGER", DT_SQL_PLAIN},
	[F_SIGNATURE] = {"signature", "TEXT", DT_SQL_PLAIN},
	[F_PROCESS] = {"process", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int begin_functions(struct dt_sql_scan *s, struct dt_error *e)
{
	return begin_list(s, dt_reader_functions(s->pass->reader), e);
}

static void function_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	uint32_t id = (uint32_t)((const struct list *)s->state)->at;
	const struct dt_function_info *f = dt_reader_function(s->pass->reader, id);
	const struct dt_module_info *m = dt_reader_module(s->pass->reader, f->module);

	switch (column) {
	case F_ID:
		sqlite3_result_int64(to, id);
		break;
	case F_NAME:
		dt_sql_put_function(s, to, id);
		break;
	case F_MODULE:
		dt_sql_put_module(s, to, id);
		break;
	case F_ADDRESS:
		sqlite3_result_int64(to, (int64_t)f->address);
		break;
	case F_SIZE:
		sqlite3_result_int64(to, (int64_t)f->size);
		break;
	case F_SOURCE:
		if (*f->file)
			dt_sql_put_text(to, f->file);
		break;
	case F_LINE:
		put_count(to, f->line);
		break;
	case F_SIGNATURE:
		if (*f->signature)
			dt_sql_put_text(to, f->signature);
		break;
	default:
		put_count(to, m ? m->pid : 0);
	}
}

const struct dt_sql_table dt_sql_functions = {
	.name = "functions",
	.column = function_columns,
	.begin = begin_functions,
	.next = next_of_list,
	.value = function_value,
	.end = end_list,
	.small = true,
};

/* ---- activities ---- */

/* A file's own table of this name hides this one, which is only seen when there is none, and is
 * empty. */
static const struct dt_sql_column activity_columns[] = {
	{"id", "INTEGER", DT_SQL_PLAIN},
	{"name", "TEXT", DT_SQL_PLAIN},
	{"begin", "INTEGER", DT_SQL_PLAIN},
	{"end", "INTEGER", DT_SQL_PLAIN},
	{"thread", "INTEGER", DT_SQL_PLAIN},
	{"core", "INTEGER", DT_SQL_PLAIN},
	{"key", "", DT_SQL_PLAIN},
	{"text", "TEXT", DT_SQL_PLAIN},
	{"duration", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

static int begin_none(struct dt_sql_scan *s, struct dt_error *e)
{
	return begin_list(s, 0, e);
}

static void no_value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
}

const struct dt_sql_table dt_sql_activities = {
	.name = "activities",
	.column = activity_columns,
	.begin = begin_none,
	.next = next_of_list,
	.value = no_value,
	.end = end_list,
	.small = true,
};
