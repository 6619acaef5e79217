/* SPDX-License-Identifier: MIT */
/* Table stacks: the callers of the calls whose stacks were kept, a row for each. */
#include <stdlib.h>

#include "show/place.h"
#include "sql/table.h"

enum {
	THREAD,
	END,
	END_TICKS,
	FUNCTION,
	STACK,
	LEVEL,
	CALLER,
	PLACE,
	MODULE,
	ADDRESS,
	SOURCE,
	LINE,
	ENDED
};

static const struct dt_sql_column columns[] = {
	[THREAD] = {"thread", "INTEGER", DT_SQL_THREAD},
	[END] = {"end", "INTEGER", DT_SQL_PLAIN},
	[END_TICKS] = {"end_ticks", "INTEGER", DT_SQL_PLAIN},
	[FUNCTION] = {"function", "TEXT", DT_SQL_FUNCTION},
	[STACK] = {"stack", "INTEGER", DT_SQL_PLAIN},
	[LEVEL] = {"level", "INTEGER", DT_SQL_PLAIN},
	[CALLER] = {"caller", "TEXT", DT_SQL_PLAIN},
	[PLACE] = {"place", "TEXT", DT_SQL_PLAIN},
	[MODULE] = {"module", "TEXT", DT_SQL_PLAIN},
	[ADDRESS] = {"address", "INTEGER", DT_SQL_PLAIN},
	[SOURCE] = {"source", "TEXT", DT_SQL_PLAIN},
	[LINE] = {"line", "INTEGER", DT_SQL_PLAIN},
	[ENDED] = {"ended", "TEXT", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

struct scan {
	struct dt_backtraces all;
	const struct dt_stack_read *stack; /* the current call's; NULL: none */
	size_t row, level;		   /* of the next row */
};

static int begin(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = calloc(1, sizeof(*x));

	s->state = x;
	if (!x)
		return dt_fail(e, "out of memory");
	return dt_backtraces_load(&x->all, s->pass->reader, e);
}

/* A stack without any caller has one row, which says why. */
static int next(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = s->state;

	while (!x->stack || x->level >= x->stack->n) {
		const struct dt_backtrace_row *r;

		if (x->row == x->all.n)
			return 0;
		r = &x->all.row[x->row++];
		x->level = 0;
		x->stack = dt_sql_wants_thread(s, r->tid) && dt_sql_wants_function(s, r->function)
				   ? dt_backtraces_stack(&x->all, r->stack)
				   : NULL;
		if (x->stack && !x->stack->n)
			break;
	}
	x->level++;
	return 1;
}

static void put_frame(struct dt_sql_scan *s, sqlite3_context *to, int column,
		      const struct dt_backtrace_frame *f)
{
	char place[DT_PLACE_TEXT];

	switch (column) {
	case CALLER:
		if (f->function)
			dt_sql_put_function(s, to, f->function);
		break;
	case PLACE:
		dt_place_put(place, s->pass->reader, f);
		sqlite3_result_text(to, place, -1, SQLITE_TRANSIENT);
		break;
	case MODULE:
		if (f->function)
			dt_sql_put_module(s, to, f->function);
		break;
	case ADDRESS:
		sqlite3_result_int64(to, (int64_t)f->address);
		break;
	case SOURCE:
		if (f->file[0])
			dt_sql_put_text(to, f->file);
		break;
	case LINE:
		if (f->line)
			sqlite3_result_int64(to, f->line);
	}
}

static void value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	const struct scan *x = s->state;
	const struct dt_backtrace_row *r = &x->all.row[x->row - 1];
	bool last = x->level >= x->stack->n;

	switch (column) {
	case THREAD:
		dt_sql_put_thread(to, r->tid);
		break;
	case END:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, r->ticks));
		break;
	case END_TICKS:
		sqlite3_result_int64(to, (int64_t)r->ticks);
		break;
	case FUNCTION:
		dt_sql_put_function(s, to, r->function);
		break;
	case STACK:
		sqlite3_result_int64(to, r->stack);
		break;
	case LEVEL:
		sqlite3_result_int64(to, (int64_t)x->level);
		break;
	case ENDED:
		if (last && x->stack->ended[0])
			dt_sql_put_text(to, x->stack->ended);
		break;
	default:
		if (x->level <= x->stack->n)
			put_frame(s, to, column, &x->stack->frame[x->level - 1]);
	}
}

static void end(struct dt_sql_scan *s)
{
	struct scan *x = s->state;

	dt_backtraces_free(&x->all);
	free(x);
}

const struct dt_sql_table dt_sql_stacks = {
	.name = "stacks",
	.column = columns,
	.begin = begin,
	.next = next,
	.value = value,
	.end = end,
	.small = true,
};
