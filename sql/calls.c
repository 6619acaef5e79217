/* SPDX-License-Identifier: MIT */
/*
 * Table calls. Pairing begins at the beginning of the trace or, if there is a pyramid, at the
 * snapshot before what is asked for; it goes on as long as a call that is asked for can still end.
 *
 * What a row says must not depend on where pairing began. So the id of a call here is not the
 * number that pairing gives it, and the arguments of a call that began before the snapshot are
 * looked up.
 */
#include "sql/calls-work.h"

#include <stdlib.h>

#include "analyse/feed.h"
#include "analyse/meanings.h"
#include "analyse/snapshot.h"
#include "sql/walk.h"

#define INDEX_FROM 2000000 /* a trace with more records should have an index */

/* The columns that need the records' values. */
#define VALUES (0xffull << TEXT | 3ull << FAILED)

static const struct dt_sql_column columns[] = {
	[ID] = {"id", "INTEGER", DT_SQL_ID},
	[PARENT] = {"parent", "INTEGER", DT_SQL_PARENT},
	[DEPTH] = {"depth", "INTEGER", DT_SQL_PLAIN},
	[THREAD] = {"thread", "INTEGER", DT_SQL_THREAD},
	[PROCESS] = {"process", "INTEGER", DT_SQL_PROCESS},
	[CORE] = {"core", "INTEGER", DT_SQL_PLAIN},
	[FUNCTION] = {"function", "TEXT", DT_SQL_FUNCTION},
	[MODULE] = {"module", "TEXT", DT_SQL_PLAIN},
	[BEGIN] = {"begin", "INTEGER", DT_SQL_BEGIN},
	[END] = {"end", "INTEGER", DT_SQL_END},
	[DURATION] = {"duration", "REAL", DT_SQL_PLAIN},
	[SELF] = {"self", "REAL", DT_SQL_PLAIN},
	[ENDED] = {"ended", "TEXT", DT_SQL_PLAIN},
	[TIMED] = {"timed", "INTEGER", DT_SQL_PLAIN},
	[RECURSIVE] = {"recursive", "INTEGER", DT_SQL_PLAIN},
	[TEXT] = {"text", "TEXT", DT_SQL_PLAIN},
	[ARGUMENTS] = {"arguments", "TEXT", DT_SQL_PLAIN},
	[ARG0] = {"arg0", "INTEGER", DT_SQL_PLAIN},
	[ARG1] = {"arg1", "INTEGER", DT_SQL_PLAIN},
	[ARG2] = {"arg2", "INTEGER", DT_SQL_PLAIN},
	[ARG3] = {"arg3", "INTEGER", DT_SQL_PLAIN},
	[RESULT] = {"result", "", DT_SQL_PLAIN},
	[RESULT0] = {"result0", "INTEGER", DT_SQL_PLAIN},
	[BEGIN_TICKS] = {"begin_ticks", "INTEGER", DT_SQL_BEGIN_TICKS},
	[END_TICKS] = {"end_ticks", "INTEGER", DT_SQL_END_TICKS},
	[FLAGS] = {"flags", "INTEGER", DT_SQL_PLAIN},
	[FAILED] = {"failed", "INTEGER", DT_SQL_PLAIN},
	[ERRNO] = {"errno", "TEXT", DT_SQL_PLAIN},
	[WAITED] = {"waited", "REAL", DT_SQL_PLAIN},
	[SELF_WAITED] = {"self_waited", "REAL", DT_SQL_PLAIN},
	[PREEMPTED] = {"preempted", "REAL", DT_SQL_PLAIN},
	[WAITED_FOR] = {"waited_for", "TEXT", DT_SQL_PLAIN},
	[UNSEEN] = {"unseen", "REAL", DT_SQL_PLAIN},
	[WOKEN_BY] = {"woken_by", "TEXT", DT_SQL_PLAIN},
	[RUN_LATENCY] = {"run_latency", "REAL", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

/* ---- where to begin, and to end ---- */

/* Uses an id that is asked for: it tells when the call begins, and in which thread. exact: the id
 * of the call itself, otherwise of its caller. */
static void use_id(struct scan *x, int64_t id, bool exact)
{
	struct dt_sql_want *w = &x->of->want;
	uint64_t ticks = dt_sql_calls_begin_of(x, id);
	size_t n;
	const struct dt_thread_info *t = dt_reader_threads(x->of->pass->reader, &n);
	uint32_t slot = dt_sql_calls_slot_of(x, id);

	if (id <= 0) {
		w->nothing = true;
		return;
	}
	if (ticks > w->begin.from)
		w->begin.from = ticks;
	if (exact && ticks < w->begin.to)
		w->begin.to = ticks;
	if (slot + 1 < x->slots && slot < n) {
		w->nothing |= w->one_thread && w->thread != t[slot].tid;
		w->one_thread = true;
		w->thread = t[slot].tid;
	}
}

/* Begins pairing at the snapshot of a region. False: that is damaged, and pairing begins at the
 * beginning of the trace. */
static bool restore(struct scan *x, const struct dt_region *region)
{
	const struct dt_pyramid *p = dt_sql_pyramid(x->of->pass);
	struct dt_bytes bytes = {0};
	bool done = dt_bars_load(p->bars, region->snapshot, &bytes, NULL) == 0 &&
		    dt_feed_restore_pair(x->of->pass->reader, bytes.p, bytes.n, x->pair) == 0;

	free(bytes.p);
	if (!done)
		dt_pair_restore(x->pair, NULL, 0);
	return done;
}

static int begin_pairing(struct scan *x, struct dt_error *e)
{
	const struct dt_sql_want *w = &x->of->want;
	const struct dt_pyramid *p = dt_sql_pyramid(x->of->pass);
	uint64_t last = x->of->pass->source->last;
	/* calls that begin at or after begin.from do not end before */
	uint64_t from = w->begin.from > w->end.from ? w->begin.from : w->end.from;
	struct dt_reader_range range = {.order = DT_BY_THREAD, .values = x->values};
	const struct dt_region *region = NULL;
	bool ends = w->end.to < last;

	if (p && p->regions && from > p->begin)
		region = &p->region[dt_pyramid_region(p, from)];
	/* a damaged pyramid is not used */
	if (region && region->snapshot && !restore(x, region))
		p = NULL;
	else if (region && region->snapshot)
		range.from = region->begin;
	/* which calls never ended is known only at the end of the trace, or from the pyramid */
	if (ends && p)
		range.to = w->end.to ? w->end.to : 1;
	x->whole = !range.to;
	/* all calls that can be asked for are counted if none of them began before pairing did */
	x->counts = w->begin.to < last && (!range.from || w->begin.from >= range.from);
	if (x->counts)
		range.order = DT_BY_TIME;
	if (!p && (from > x->of->pass->source->first || ends) &&
	    x->of->pass->source->records > INDEX_FROM)
		*w->unindexed = true;
	return dt_reader_start(x->of->pass->reader, &range, e);
}

static int begin(struct dt_sql_scan *s, struct dt_error *e)
{
	struct dt_pair_events events = {.end = dt_sql_calls_on_end};
	struct scan *x = calloc(1, sizeof(*x));
	size_t n;

	s->state = x;
	if (!x)
		return dt_fail(e, "out of memory");
	x->of = s;
	dt_reader_threads(s->pass->reader, &n);
	x->slots = (uint32_t)n + 1;
	x->values = s->want.columns & VALUES;
	x->failures.meanings = dt_meanings_of(s->pass->reader);
	x->waits = dt_feed_has_switches(s->pass->reader);
	/* the begin of a call without an entry is NULL, and so is its id, but not its caller's */
	x->orphans = !s->want.one_id && !s->want.begin.from && s->want.begin.to == UINT64_MAX;
	if (s->want.one_id)
		use_id(x, s->want.id, true);
	if (s->want.one_parent)
		use_id(x, s->want.parent, false);
	if (s->want.nothing) {
		x->ended = true;
		return 0;
	}
	events.begin = s->want.begin.to < s->pass->source->last ? dt_sql_calls_on_begin : NULL;
	if (s->want.columns & (1ull << TEXT | 1ull << ARGUMENTS) && dt_further_any(s->pass->reader))
		events.other = dt_sql_calls_on_other;
	events.ctx = x;
	x->pair = dt_pair_new(s->pass->reader, &events, x->values);
	if (!x->pair)
		return dt_fail(e, "out of memory");
	dt_further_begin(&x->further, s->pass->reader, &s->pass->formats, x->pair);
	return begin_pairing(x, e);
}

/* ---- rows ---- */

static void finish(struct scan *x)
{
	dt_further_end(&x->further);
	x->ended = true;
	if (x->whole)
		dt_pair_finish(x->pair);
	else
		dt_sql_calls_add_late(x);
	dt_sql_calls_find_callers(x);
}

/* Returns whether nothing that is asked for can follow. */
static bool is_over(const struct scan *x)
{
	return x->over ||
	       (x->counts && !x->open_now && x->span.n &&
		dt_sql_far_behind(x->of->pass->reader, x->span.ticks[0], x->of->want.begin.to));
}

static int take_span(struct scan *x, struct dt_error *e)
{
	int rc = dt_reader_next(x->of->pass->reader, &x->span, e);

	if (rc <= 0)
		return rc;
	if (x->span.n && !dt_sql_wants_thread(x->of, x->span.tid) &&
	    !dt_pair_unwanted(x->pair, &x->span))
		return 1;
	if (dt_pair_span(x->pair, &x->span))
		return dt_fail(e, "out of memory");
	return 1;
}

static int next(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = s->state;
	int rc;

	if (x->first == x->n)
		dt_sql_calls_forget_rows(x);
	while (x->first == x->n && !x->ended) {
		rc = take_span(x, e);
		if (rc < 0)
			return -1;
		if (!rc)
			finish(x);
		else
			x->ended = is_over(x);
		if (x->failed)
			return dt_fail(e, "out of memory");
	}
	if (x->first == x->n)
		return 0;
	x->first++;
	return 1;
}

static void end(struct dt_sql_scan *s)
{
	struct scan *x = s->state;

	dt_pair_free(x->pair);
	if (x->other)
		dt_sql_pass_end(x->of->sources, x->other);
	dt_sql_calls_forget_rows(x);
	free(x->row);
	dt_further_free(&x->further);
	free(x->open);
	free(x->json.bytes.p);
	dt_failures_free(&x->failures);
	free(x->text);
	free(x);
}

const struct dt_sql_table dt_sql_calls = {
	.name = "calls",
	.column = columns,
	.begin = begin,
	.next = next,
	.value = dt_sql_calls_value,
	.end = end,
};
