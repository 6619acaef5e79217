/* SPDX-License-Identifier: MIT */
/*
 * Table calls. Pairing begins at the beginning of the trace or, if there is a pyramid, at the
 * snapshot before what is asked for; it goes on as long as a call that is asked for can still end.
 *
 * What a row says must not depend on where pairing began. So the id of a call here is not the
 * number that pairing gives it, and the arguments of a call that began before the snapshot are
 * looked up.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/meanings.h"
#include "filter/failures.h"
#include "analyse/feed.h"
#include "analyse/pair.h"
#include "analyse/snapshot.h"
#include "show/entry-records.h"
#include "show/failure.h"
#include "sql/arguments.h"
#include "sql/walk.h"

#define INDEX_FROM 2000000  /* a trace with more records should have an index */
#define BEHIND	   10000000 /* ticks after an entry within which the rest of it comes */

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
};

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
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
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
	bool whole;	     /* pairing goes to the end of the trace */
	bool over, ended, failed;
	bool waits;		   /* switches tell what was waiting */
	uint32_t slots;		   /* places for threads in ids: see id_of() */
	struct dt_sql_pass *other; /* for looking up arguments; NULL: not needed so far */
	struct dt_fulls fulls;	   /* what came after the entries of open calls */
	struct dt_texts texts;
	struct dt_json json;
	struct dt_failures failures;
	char *text;
};

/* ---- ids ---- */

/* Returns the id of a call: ordered by begin, then depth, then thread. Two calls of a thread can
 * begin at the same tick only if one is in the other. */
static int64_t id_of(const struct scan *x, const struct dt_call *c)
{
	const struct dt_reader *r = x->of->pass->reader;
	const struct dt_thread_info *t = c->tid == DT_NO_TID ? NULL : dt_reader_thread(r, c->tid);
	uint32_t slot = x->slots - 1;
	uint64_t id;
	size_t n;

	if (c->flags & DT_CALL_NO_ENTRY)
		return 0;
	if (t && (size_t)(t - dt_reader_threads(r, &n)) < slot)
		slot = (uint32_t)(t - dt_reader_threads(r, &n));
	id = (c->begin - x->of->pass->source->first) * 4 + (c->depth & 3);
	return (int64_t)((id * x->slots + slot + 1) & INT64_MAX);
}

/* Returns the tick at which a call with such an id begins. */
static uint64_t begin_of(const struct scan *x, int64_t id)
{
	return x->of->pass->source->first + (uint64_t)(id - 1) / x->slots / 4;
}

static uint32_t slot_of(const struct scan *x, int64_t id)
{
	return (uint32_t)((uint64_t)(id - 1) % x->slots);
}

/* ---- rows ---- */

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
	/* the begin of a call without an entry is NULL */
	return c->flags & DT_CALL_NO_ENTRY ? !w->begin.from && w->begin.to == UINT64_MAX
					   : dt_sql_in(&w->begin, c->begin);
}

static bool take_caller(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

static uint16_t core_of(const struct scan *x, const struct dt_call *c)
{
	const struct dt_span *s = &x->span;

	if (c->flags & DT_CALL_OPEN)
		return DT_SHARED_CORE;
	for (uint32_t i = 0; s->core >= DT_FURTHER_CORES && i < s->n; i++)
		if (s->ticks[i] == c->end)
			return s->record_core[i];
	return s->core >= DT_FURTHER_CORES ? DT_SHARED_CORE : s->core;
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
	x->open[x->opens++] = (struct open_call){c->id, id_of(x, c)};
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
	r->full = dt_full_take(&x->fulls, c->id);
	r->core = core_of(x, c);
	r->parent = 0;
	/* for open calls: find_callers(), when all are known */
	if (!(c->flags & DT_CALL_OPEN) && x->of->want.columns >> PARENT & 1) {
		dt_pair_callers(x->pair, take_caller, &caller);
		r->parent = caller ? id_of(x, caller) : 0;
	}
}

/* Returns whether a call could be asked for, whenever it ends. */
static bool is_counted(const struct scan *x, const struct dt_call *c)
{
	return x->counts && !(c->flags & DT_CALL_NO_ENTRY) &&
	       dt_sql_in(&x->of->want.begin, c->begin) && dt_sql_wants_function(x->of, c->function);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct scan *x = ctx;

	x->open_now += is_counted(x, c);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct scan *x = ctx;

	x->open_now -= is_counted(x, c);
	if (c->flags & DT_CALL_OPEN)
		add_open(x, c);
	if (is_wanted(x, c))
		add_row(x, c);
	else
		dt_full_forget(&x->fulls, c->id);
	/* all calls that it made have ended before */
	if (x->of->want.one_parent && id_of(x, c) == x->of->want.parent)
		x->over = true;
}

/* ---- what came after the entry ---- */

static bool is_behind(const struct dt_site *s)
{
	return s->place == DT_SITE_POINT_MORE || s->place == DT_SITE_POINT_TEXT;
}

static void on_text(void *ctx, const struct dt_text *t)
{
	struct scan *x = ctx;
	const struct dt_call *c = NULL;

	if (!dt_text_of_point(t) || x->ended)
		return;
	dt_pair_callers(x->pair, take_caller, &c);
	if (c && c->id && dt_entry_records_of(x->of->pass->reader, t->function, c->entry))
		dt_entry_records_text(&x->fulls, c->id, x->of->pass->reader, t, c->argument);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct scan *x = ctx;
	struct dt_reader *reader = x->of->pass->reader;
	const struct dt_site *site = dt_reader_site(reader, s->site[i]);
	const struct dt_call *c = NULL;
	struct dt_record r;

	(void)depth;
	if (!is_behind(site))
		return;
	dt_span_record(reader, s, i, &r);
	if (!dt_texts_take(&x->texts, site, &r)) {
		dt_pair_callers(x->pair, take_caller, &c);
		if (c && c->id && dt_entry_records_of(reader, site->function, c->entry))
			dt_entry_records_values(&x->fulls, c->id, &x->of->pass->formats, site, &r,
						c->argument);
	}
	x->failed |= x->texts.failed || x->fulls.failed;
}

static bool has_behind(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++)
		if (is_behind(dt_reader_site(r, i)))
			return true;
	return false;
}

/* ---- */

static int by_number(const void *a, const void *b)
{
	const struct open_call *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Sets the callers of calls that were open at the end, when all of these are known. */
static void find_callers(struct scan *x)
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

/* ---- where to begin, and to end ---- */

/* Uses an id that is asked for: it tells when the call begins, and in which thread. exact: the id
 * of the call itself, otherwise of its caller. */
static void use_id(struct scan *x, int64_t id, bool exact)
{
	struct dt_sql_want *w = &x->of->want;
	uint64_t ticks = begin_of(x, id);
	size_t n;
	const struct dt_thread_info *t = dt_reader_threads(x->of->pass->reader, &n);
	uint32_t slot = slot_of(x, id);

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
	struct dt_pair_events events = {.end = on_end};
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
	if (s->want.one_id)
		use_id(x, s->want.id, true);
	if (s->want.one_parent)
		use_id(x, s->want.parent, false);
	if (s->want.nothing) {
		x->ended = true;
		return 0;
	}
	events.begin = s->want.begin.to < s->pass->source->last ? on_begin : NULL;
	if (s->want.columns & (1ull << TEXT | 1ull << ARGUMENTS) && has_behind(s->pass->reader))
		events.other = on_other;
	x->texts = (struct dt_texts){.fn = on_text, .ctx = x};
	events.ctx = x;
	x->pair = dt_pair_new(s->pass->reader, &events, x->values);
	if (!x->pair)
		return dt_fail(e, "out of memory");
	return begin_pairing(x, e);
}

/* Adds the calls that never ended, if the run does not go to the end of the trace. */
static void add_late(struct scan *x)
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

static void finish(struct scan *x)
{
	dt_texts_end(&x->texts);
	x->ended = true;
	if (x->whole)
		dt_pair_finish(x->pair);
	else
		add_late(x);
	find_callers(x);
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
	    !dt_pair_unwanted(x->of->pass->reader, &x->span))
		return 1;
	if (dt_pair_span(x->pair, &x->span))
		return dt_fail(e, "out of memory");
	return 1;
}

/* Frees the rows, which have been handed out. */
static void forget_rows(struct scan *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->row[i].full.text);
	x->first = x->n = 0;
}

static int next(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = s->state;
	int rc;

	if (x->first == x->n)
		forget_rows(x);
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

/* ---- arguments of calls that began before pairing did ---- */

struct looking {
	struct scan *x;
	struct dt_fulls fulls; /* of the one call, with id 1 */
	const uint64_t *argument;
};

static void on_looked_text(void *ctx, const struct dt_text *t)
{
	struct looking *l = ctx;

	dt_entry_records_text(&l->fulls, 1, l->x->of->pass->reader, t, l->argument);
}

/* Looks up the entry's record, at the tick when the call began, and the records after it that
 * belong to it. */
static int look_up(struct scan *x, struct row *r, struct dt_error *e)
{
	struct looking l = {.x = x, .argument = r->argument};
	struct dt_texts texts = {.fn = on_looked_text, .ctx = &l};
	struct dt_reader *reader;
	struct dt_sql_walk w;
	bool behind, found = false;
	int rc;

	if (!x->other && !(x->other = dt_sql_pass_again(x->of->pass->source, e)))
		return -1;
	reader = x->other->reader;
	behind = has_behind(reader);
	if (dt_sql_walk_begin(&w, reader, r->call.begin, r->call.begin + (behind ? BEHIND : 0),
			      true, e) < 0)
		return -1;
	while ((rc = dt_sql_walk_next(&w, e)) > 0) {
		const struct dt_site *site = dt_reader_site(reader, w.span.site[w.at]);
		struct dt_record record;

		if (w.span.tid != r->call.tid)
			continue;
		if (found && !is_behind(site))
			break;
		if (found) {
			dt_span_record(reader, &w.span, w.at, &record);
			if (!dt_texts_take(&texts, site, &record))
				dt_entry_records_values(&l.fulls, 1, &x->of->pass->formats, site,
							&record, l.argument);
			continue;
		}
		if (w.span.ticks[w.at] > r->call.begin)
			break;
		if (w.span.site[w.at] != r->call.entry || w.span.sp[w.at] != r->call.sp)
			continue;
		memcpy(r->argument, w.span.value[w.at], sizeof(r->argument));
		r->call.argument = r->argument;
		found = true;
		if (!behind)
			break;
	}
	dt_texts_end(&texts);
	r->full = dt_full_take(&l.fulls, 1);
	if (texts.failed || l.fulls.failed)
		rc = dt_fail(e, "out of memory");
	dt_fulls_free(&l.fulls);
	return rc < 0 ? -1 : 0;
}

/* Returns a call's arguments; NULL: they are not known, or SQLite was given an error. */
static const uint64_t *arguments_of(struct scan *x, struct row *r, sqlite3_context *to)
{
	struct dt_error e = {""};

	if (r->call.flags & DT_CALL_NO_ENTRY)
		return NULL;
	if (!r->call.argument && look_up(x, r, &e) < 0) {
		sqlite3_result_error(to, e.text, -1);
		return NULL;
	}
	/* call.argument may be stale: rows may have moved */
	return r->call.argument ? r->argument : NULL;
}

static const uint64_t *result_of(const struct row *r)
{
	return r->call.result ? r->result : NULL;
}

/* ---- values ---- */

static void put_text(struct scan *x, sqlite3_context *to, struct row *r)
{
	struct dt_formats *f = &x->of->pass->formats;
	const uint64_t *argument = arguments_of(x, r, to);
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
	const uint64_t *argument = arguments_of(x, r, to);

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
	const uint64_t *argument = arguments_of(x, r, to);

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

/* Gives a part of a call's time; NULL if switches do not tell it. */
static void put_wait(struct scan *x, sqlite3_context *to, const struct dt_call *c, uint64_t ticks)
{
	if (x->waits && !(c->flags & (DT_CALL_NO_ENTRY | DT_CALL_NO_EXIT)))
		dt_sql_put_duration(to, (double)ticks * dt_reader_ns_per_tick(x->of->pass->reader));
}

static void value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	struct scan *x = s->state;
	struct row *r = &x->row[x->first - 1];
	struct dt_call *c = &r->call;

	switch (column) {
	case ID:
		put_number(to, id_of(x, c), !(c->flags & DT_CALL_NO_ENTRY));
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
		put_wait(x, to, c, c->waited);
		break;
	case SELF_WAITED:
		put_wait(x, to, c, c->waited_self);
		break;
	case PREEMPTED:
		put_wait(x, to, c, c->preempted);
		break;
	default:
		put_times(x, to, c, column);
	}
}

static void no_text(void *ctx, const struct dt_text *t)
{
	(void)ctx, (void)t;
}

static void end(struct dt_sql_scan *s)
{
	struct scan *x = s->state;

	dt_pair_free(x->pair);
	if (x->other)
		dt_sql_pass_end(x->of->sources, x->other);
	forget_rows(x);
	free(x->row);
	dt_texts_end(&(struct dt_texts){.first = x->texts.first, .fn = no_text});
	dt_fulls_free(&x->fulls);
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
	.value = value,
	.end = end,
};
