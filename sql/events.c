/* SPDX-License-Identifier: MIT */
/* Table events: a program's own events, the ends of messages, tracepoints. */
#include <stdlib.h>
#include <string.h>

#include "show/event.h"
#include "show/whole-hit.h"
#include "analyse/messages.h"
#include "include/devtrace.h"
#include "sql/arguments.h"
#include "sql/walk.h"

#define TEXT_MAX 65000 /* most bytes of a text that are printed, each as up to four */

enum {
	TIME,
	KIND,
	THREAD,
	PROCESS,
	CORE,
	SUBSYSTEM,
	EVENT,
	ARGUMENT,
	TEXT,
	ARGUMENTS,
	BYTES,
	VALUE0,
	VALUE1,
	VALUE2,
	VALUE3,
	TICKS,
};

static const struct dt_sql_column columns[] = {
	[TIME] = {"time", "INTEGER", DT_SQL_BEGIN},
	[KIND] = {"kind", "TEXT", DT_SQL_PLAIN},
	[THREAD] = {"thread", "INTEGER", DT_SQL_THREAD},
	[PROCESS] = {"process", "INTEGER", DT_SQL_PROCESS},
	[CORE] = {"core", "INTEGER", DT_SQL_CORE},
	[SUBSYSTEM] = {"subsystem", "TEXT", DT_SQL_PLAIN},
	[EVENT] = {"event", "TEXT", DT_SQL_PLAIN},
	[ARGUMENT] = {"argument", "INTEGER", DT_SQL_PLAIN},
	[TEXT] = {"text", "TEXT", DT_SQL_PLAIN},
	[ARGUMENTS] = {"arguments", "TEXT", DT_SQL_PLAIN},
	[BYTES] = {"bytes", "", DT_SQL_PLAIN},
	[VALUE0] = {"value0", "INTEGER", DT_SQL_PLAIN},
	[VALUE1] = {"value1", "INTEGER", DT_SQL_PLAIN},
	[VALUE2] = {"value2", "INTEGER", DT_SQL_PLAIN},
	[VALUE3] = {"value3", "INTEGER", DT_SQL_PLAIN},
	[TICKS] = {"ticks", "INTEGER", DT_SQL_BEGIN_TICKS},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

/* A row: an event with all of its text, or a record by itself. */
struct row {
	struct dt_record record;
	const struct dt_site *site; /* of a record by itself; otherwise NULL */
	uint32_t function;	    /* of a point: row of its function */
	struct dt_text *text;	    /* malloc'ed; NULL: none */
	struct dt_whole_hit *hit;   /* of several records; NULL: it is none */
};

struct scan {
	struct dt_sql_walk walk;
	struct dt_sql_scan *of;
	struct dt_texts texts;
	struct dt_whole_hits hits;
	struct row *row; /* rows to be handed out: from `first' on; the one before it is the current
			    row */
	size_t first, n, room;
	bool ended, failed;
	struct dt_json json;
	struct dt_out out; /* only for text in memory */
};

static bool is_wanted(const struct dt_sql_scan *s, const struct row *r)
{
	return (!s->want.one_core || r->record.core == s->want.core) &&
	       dt_sql_wants_thread(s, r->record.tid);
}

static void free_row(const struct row *r)
{
	free(r->text);
	dt_whole_hit_free(r->hit);
}

static void push(struct scan *x, const struct row *r)
{
	if (!is_wanted(x->of, r)) {
		free_row(r);
		return;
	}
	if (x->n == x->room) {
		size_t room = x->room ? 2 * x->room : 16;
		struct row *more = realloc(x->row, room * sizeof(*more));

		if (!more) {
			x->failed = true;
			free_row(r);
			return;
		}
		x->row = more;
		x->room = room;
	}
	x->row[x->n++] = *r;
}

static void on_text(void *ctx, const struct dt_text *t)
{
	struct scan *x = ctx;
	struct row r = {.record = t->head, .function = t->function};

	if (dt_whole_hits_take_text(&x->hits, t))
		return;
	r.text = malloc(sizeof(*t) + t->n);
	if (!r.text) {
		x->failed = true;
		return;
	}
	memcpy(r.text, t, sizeof(*t) + t->n);
	push(x, &r);
}

static void on_hit(void *ctx, struct dt_whole_hit *h)
{
	struct scan *x = ctx;
	struct row r = {
		.record = h->head, .site = &h->site, .function = h->site.function, .hit = h};

	push(x, &r);
}

static int begin(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = calloc(1, sizeof(*x));
	uint64_t from = s->want.begin.from;

	s->state = x;
	if (!x)
		return dt_fail(e, "out of memory");
	x->of = s;
	x->texts.fn = on_text;
	x->texts.ctx = x;
	x->hits = (struct dt_whole_hits){.formats = &s->pass->formats, .fn = on_hit, .ctx = x};
	x->out.fd = -1;
	/* Reads to the end, as the rest of a text may come after the range; and from a little
	 * before the range, so that the rest of a text is not taken for the beginning of one. */
	from = from > DT_SQL_DISORDER ? from - DT_SQL_DISORDER : 0;
	return dt_sql_walk_begin(&x->walk, s->pass->reader, from, UINT64_MAX, true, e);
}

static void clear(struct scan *x)
{
	for (size_t i = 0; i < x->n; i++)
		free_row(&x->row[i]);
	x->first = x->n = 0;
}

static void take(struct scan *x)
{
	const struct dt_site *site = dt_sql_walk_site(&x->walk);
	struct row r = {.site = site, .function = site->function};

	if (site->kind == DT_ENTRY || site->kind == DT_EXIT || dt_kind_is_about(site->kind) ||
	    site->place == DT_SITE_POINT_LEAVING)
		return;
	dt_span_record(x->walk.reader, &x->walk.span, x->walk.at, &r.record);
	r.record.core = dt_sql_walk_core(&x->walk);
	/* what begins after the range is outside */
	if (r.record.ticks > x->of->want.begin.to && site->place != DT_SITE_MORE &&
	    !(x->hits.first && site->place == DT_SITE_POINT_MORE) &&
	    site->place != DT_SITE_POINT_TEXT && site->place != DT_SITE_POINT_BUFFER)
		return;
	if (!dt_texts_take(&x->texts, site, &r.record) &&
	    !dt_whole_hits_take(&x->hits, site, &r.record))
		push(x, &r);
	x->failed |= x->texts.failed || x->hits.failed;
}

/* Returns whether nothing of the range can follow, and all texts are complete. */
static bool is_over(const struct scan *x)
{
	return !x->texts.first && !x->hits.first &&
	       dt_sql_far_behind(x->walk.reader, x->walk.span.ticks[x->walk.at],
				 x->of->want.begin.to);
}

static int next(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = s->state;
	int rc = 1;

	if (x->first == x->n)
		clear(x);
	while (x->first == x->n && !x->ended) {
		rc = dt_sql_walk_next(&x->walk, e);
		if (rc < 0)
			return -1;
		if (rc)
			take(x);
		if (!rc || is_over(x)) {
			dt_texts_end(&x->texts);
			dt_whole_hits_end(&x->hits);
			x->ended = true;
		}
		if (x->failed)
			return dt_fail(e, "out of memory");
	}
	if (x->first == x->n)
		return 0;
	x->first++;
	return 1;
}

/* ---- values ---- */

static const char *kind_of(const struct row *r)
{
	switch (r->record.kind) {
	case DT_EVENT:
		return "event";
	case DT_SEND:
		return "send";
	case DT_RECEIVE:
		return "receive";
	case DT_POINT:
		return "point";
	default:
		return "more";
	}
}

static bool is_point(const struct row *r)
{
	return r->record.kind == DT_POINT || r->record.kind == DT_MORE;
}

static void put_number(sqlite3_context *to, uint32_t v)
{
	char text[16];

	dt_format(text, sizeof(text), "%u", v);
	dt_sql_put_text(to, text);
}

static void put_subsystem(struct dt_sql_scan *s, sqlite3_context *to, const struct row *r)
{
	uint64_t body = r->record.value[0];
	const struct dt_event_row *row = dt_reader_event(s->pass->reader, body);

	if (r->record.kind != DT_EVENT)
		return;
	if (row && *row->subsystem_name)
		dt_sql_put_text(to, row->subsystem_name);
	else
		put_number(to, DT_BODY_SUBSYSTEM(body));
}

static void put_event(struct dt_sql_scan *s, sqlite3_context *to, const struct row *r)
{
	uint64_t body = r->record.value[0];
	const struct dt_event_row *row = dt_reader_event(s->pass->reader, body);

	if (is_point(r))
		dt_sql_put_function(s, to, r->function);
	else if (r->record.kind != DT_EVENT)
		return;
	else if (row && *row->name)
		dt_sql_put_text(to, row->name);
	else
		put_number(to, DT_BODY_EVENT(body));
}

static void put_argument(sqlite3_context *to, const struct row *r)
{
	if (r->record.kind == DT_EVENT)
		sqlite3_result_int64(to, DT_BODY_ARGUMENT(r->record.value[0]));
	else if (!is_point(r))
		sqlite3_result_int64(to, (int64_t)dt_message_channel(r->record.value[0]));
}

static void put_text(struct dt_sql_scan *s, sqlite3_context *to, const struct row *r)
{
	struct scan *x = s->state;
	uint32_t n = r->text ? r->text->n : 0;
	char *end;

	/* at most TEXT_MAX bytes are printed; other columns need the text as it is */
	if (n > TEXT_MAX)
		r->text->n = TEXT_MAX;
	x->out.n = 0;
	if (r->hit) {
		end = dt_format_full(&s->pass->formats, x->out.buffer, r->function, r->record.value,
				     &r->hit->full);
		x->out.n = (size_t)(end - x->out.buffer);
	} else if (r->text && dt_text_of_point(r->text)) {
		dt_text_print(&x->out, s->pass->reader, r->text, NULL);
	} else if (is_point(r)) {
		end = (r->site->place == DT_SITE_POINT ? dt_format_point : dt_format_more)(
			&s->pass->formats, x->out.buffer, r->function, r->record.value,
			r->record.flags & DT_FAULT);
		x->out.n = (size_t)(end - x->out.buffer);
	} else {
		dt_event_print(&x->out, s->pass->reader, &r->record, r->site ? r->site->mask : 1,
			       r->text);
	}
	if (r->text)
		r->text->n = n;
	sqlite3_result_text64(to, x->out.buffer, x->out.n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void put_arguments(struct dt_sql_scan *s, sqlite3_context *to, const struct row *r)
{
	struct scan *x = s->state;

	if (!is_point(r))
		return;
	if (r->hit)
		dt_sql_call_arguments(&s->pass->formats, &x->json, r->function, r->record.value,
				      &r->hit->full);
	else if (r->text)
		dt_sql_text_argument(&s->pass->formats, &x->json, r->function, r->text->bytes,
				     r->text->n);
	else
		dt_sql_arguments(&s->pass->formats, &x->json, r->function, r->record.value,
				 r->record.flags & DT_FAULT);
	dt_sql_put_json(to, &x->json);
}

/* Gives the bytes of a text: as text if they have no NUL, otherwise as a blob. */
static void put_bytes(sqlite3_context *to, const struct row *r)
{
	if (!r->text)
		return;
	if (memchr(r->text->bytes, '\0', r->text->n))
		sqlite3_result_blob64(to, r->text->bytes, r->text->n, SQLITE_TRANSIENT);
	else
		sqlite3_result_text64(to, r->text->bytes, r->text->n, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
}

static void value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	struct scan *x = s->state;
	const struct row *r = &x->row[x->first - 1];

	switch (column) {
	case TIME:
		sqlite3_result_int64(to, dt_sql_ns(s->pass, r->record.ticks));
		break;
	case KIND:
		dt_sql_put_text(to, kind_of(r));
		break;
	case THREAD:
		dt_sql_put_thread(to, r->record.tid);
		break;
	case PROCESS:
		dt_sql_put_process(s, to, r->record.tid);
		break;
	case CORE:
		dt_sql_put_core(to, r->record.core);
		break;
	case SUBSYSTEM:
		put_subsystem(s, to, r);
		break;
	case EVENT:
		put_event(s, to, r);
		break;
	case ARGUMENT:
		put_argument(to, r);
		break;
	case TEXT:
		put_text(s, to, r);
		break;
	case ARGUMENTS:
		put_arguments(s, to, r);
		break;
	case BYTES:
		put_bytes(to, r);
		break;
	case TICKS:
		sqlite3_result_int64(to, (int64_t)r->record.ticks);
		break;
	default:
		/* the values of a text are its beginning */
		if (r->site && r->site->mask >> (column - VALUE0) & 1)
			sqlite3_result_int64(to, (int64_t)r->record.value[column - VALUE0]);
	}
}

static void end(struct dt_sql_scan *s)
{
	struct scan *x = s->state;

	/* texts that are not complete become rows, which are then freed */
	dt_texts_end(&x->texts);
	dt_whole_hits_end(&x->hits);
	clear(x);
	free(x->row);
	free(x->json.bytes.p);
	free(x);
}

const struct dt_sql_table dt_sql_events = {
	.name = "events",
	.column = columns,
	.begin = begin,
	.next = next,
	.value = value,
	.end = end,
};
