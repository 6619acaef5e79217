/* SPDX-License-Identifier: MIT */
/* The list of all bars of a window, one by one and sorted by begin: calls, events, messages, and
 * which threads run on the cores. */
#include <stdlib.h>
#include <string.h>

#include "process/now.h"
#include "view/asked.h"
#include "view/entries.h"

#define ROWS	1000   /* in an answer, at most, but for those of its last tick */
#define BUDGET	0.25   /* seconds: then the answer is what has been found, and where to go on */
#define COLLECT 200000 /* rows in a stretch of time at most: with more, shorter ones are tried */
#define FIRST	400    /* records that are expected in the first stretch of time */

struct rows {
	const struct dt_pyramid *pyramid;
	unsigned kinds; /* which are wanted: a bit for each of enum dt_track_kind */
	struct dt_hit *row;
	size_t n, room;
	bool full, no_memory;
};

static bool on_bar(void *ctx, uint32_t track, const struct dt_bar *x)
{
	struct rows *l = ctx;

	if (!(l->kinds >> l->pyramid->track[track].kind & 1))
		return true;
	if (l->n == COLLECT) {
		l->full = true;
		return false;
	}
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 1024;
		struct dt_hit *more = realloc(l->row, room * sizeof(*more));

		if (!more) {
			l->no_memory = true;
			return false;
		}
		l->row = more;
		l->room = room;
	}
	l->row[l->n++] = (struct dt_hit){track, *x};
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct dt_hit *x = a, *y = b;

	if (x->bar.begin != y->bar.begin)
		return x->bar.begin < y->bar.begin ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->bar.depth != y->bar.depth)
		return x->bar.depth < y->bar.depth ? -1 : 1;
	return x->bar.end < y->bar.end ? -1 : x->bar.end > y->bar.end;
}

/* Returns a length of time, in ticks, in which FIRST records are expected, by how dense the records
 * are at `at'. */
static uint64_t stretch(const struct dt_pyramid *p, uint64_t at)
{
	const struct dt_region *r = &p->region[dt_pyramid_region(p, at)];
	double ticks = (double)(r->end - r->begin) / (double)(r->records + 1) * FIRST;

	return ticks < 1 ? 1 : (uint64_t)ticks;
}

/* Reads the arguments of n rows, those of rows near each other together. It ends after BUDGET: the
 * other rows have no arguments then. */
static void read_entries(struct dt_asked *a, const struct dt_hit *rows, size_t n,
			 struct dt_entry *entry)
{
	const struct dt_pyramid *p = a->p->pyramid;
	struct dt_error e;
	double begun = dt_now_s();

	for (size_t i = 0; i < n; i++) {
		const struct dt_hit *row = &rows[i];
		const struct dt_track *t = &p->track[row->track];

		entry[i] = (struct dt_entry){.begin = row->bar.begin,
					     .thread = t->id,
					     .function = row->bar.what,
					     .wanted = t->kind == DT_TRACK_THREAD &&
						       !(row->bar.flags & DT_CALL_NO_ENTRY)};
	}
	for (size_t i = 0, j; i < n && dt_now_s() - begun < BUDGET; i = j) {
		uint64_t near = 50 * stretch(p, entry[i].begin);

		for (j = i + 1; j < n && entry[j].begin - entry[j - 1].begin <= near;)
			j++;
		if (dt_entries_read(dt_windows_reader(a->all->windows), entry + i, j - i, &e) < 0)
			break;
	}
}

/* ---- a row as text ---- */

static void put_text(struct dt_asked *a, const struct dt_hit *row, const struct dt_track *t,
		     const struct dt_entry *entry)
{
	struct dt_json *out = &a->answer->text, line = {0};

	switch (t->kind) {
	case DT_TRACK_THREAD:
		dt_words_more(a->formats, &line, row->bar.what,
			      entry->known ? entry->argument : NULL, entry->more, entry->n);
		dt_json_bytes(&line, "", 1);
		dt_json_string(out, line.failed ? "?" : (const char *)line.bytes.p);
		free(line.bytes.p);
		break;
	case DT_TRACK_EVENT:
	case DT_TRACK_POINT:
		dt_track_name(a, t);
		dt_json_print(out, ",\"value\":\"%lu\"", (unsigned long)row->bar.low);
		break;
	case DT_TRACK_MESSAGE:
		dt_track_name(a, t);
		dt_json_print(out, ",\"value\":\"0x%lx\",\"receiver\":%u",
			      (unsigned long)row->bar.low, (uint32_t)row->bar.high);
		break;
	default:
		dt_json_string(out, "runs");
	}
}

static void put_row(struct dt_asked *a, const struct dt_hit *row, bool first,
		    const struct dt_entry *entry)
{
	const struct dt_track *t = &a->p->pyramid->track[row->track];

	dt_json_print(
		&a->answer->text,
		"%s{\"track\":%u,\"begin\":%lu,\"end\":%lu,\"depth\":%u,\"what\":%u,\"flags\":%u,"
		"\"text\":",
		first ? "" : ",", row->track, (unsigned long)(row->bar.begin - a->origin),
		(unsigned long)(row->bar.end - a->origin), row->bar.depth, row->bar.what,
		row->bar.flags);
	put_text(a, row, t, entry);
	if (t->kind == DT_TRACK_THREAD)
		dt_json_print(&a->answer->text, ",\"busy\":%lu,\"thread\":%u,\"pid\":%u",
			      (unsigned long)row->bar.busy, t->id, t->pid ? t->pid : t->id);
	dt_json_print(&a->answer->text, "}");
}

void dt_answer_rows(struct dt_asked *a, const struct dt_hit *row, size_t n)
{
	struct dt_entry *entry = calloc(n + 1, sizeof(*entry));

	if (!entry) {
		a->answer->text.failed = true;
		return;
	}
	dt_json_print(&a->answer->text, "\"rows\":[");
	read_entries(a, row, n, entry);
	for (size_t i = 0; i < n; i++)
		put_row(a, &row[i], i == 0, &entry[i]);
	dt_json_print(&a->answer->text, "]");
	dt_entries_free(entry, n);
	free(entry);
}

/* ---- */

/* Collects rows that begin at *at or later, until there are at least `wanted', or BUDGET is over,
 * or `end' is reached. *at is then where to go on; above `end': there is no more. */
static int collect(struct dt_asked *a, struct rows *l, uint64_t *at, uint64_t end, size_t wanted,
		   struct dt_error *e)
{
	double begun = dt_now_s();
	uint64_t wide = stretch(a->p->pyramid, *at);

	while (*at <= end && l->n < wanted && dt_now_s() - begun < BUDGET) {
		uint64_t to = *at + wide < *at || *at + wide > end ? end : *at + wide;
		size_t before = l->n;

		l->full = false;
		if (dt_window_each(a->p->windows, *at, to, true, on_bar, l, e) < 0)
			return -1;
		if (l->no_memory)
			return dt_fail(e, "out of memory");
		if (l->full && wide > 1) { /* too many at once */
			l->n = before;
			wide = wide > 16 ? wide / 16 : 1;
			continue;
		}
		*at = to + 1;
		wide = wide > UINT64_MAX / 4 ? wide : 2 * wide;
	}
	return 0;
}

void dt_answer_list(struct dt_asked *a)
{
	struct dt_json *out = &a->answer->text;
	struct rows l = {.pyramid = a->p->pyramid, .kinds = ~0u};
	uint64_t at, end, rows = 200, kinds;
	struct dt_error e = {""};
	size_t n;

	if (!dt_asked_range(a, &at, &end) ||
	    (a->r->value(a->r->ctx, "rows") && !dt_asked_number(a, "rows", 1, ROWS, &rows)))
		return;
	if (a->r->value(a->r->ctx, "kinds")) {
		if (!dt_asked_number(a, "kinds", 0, (1u << DT_TRACK_KINDS) - 1, &kinds))
			return;
		l.kinds = (unsigned)kinds;
	}
	if (l.pyramid->regions && collect(a, &l, &at, end, rows, &e) < 0) {
		free(l.row);
		dt_refuse(a, 500, e.text);
		return;
	}
	if (l.n)
		qsort(l.row, l.n, sizeof(*l.row), by_begin);
	/* rows that begin in the same tick are in the same answer */
	for (n = l.n < rows ? l.n : rows;
	     n && n < l.n && l.row[n].bar.begin == l.row[n - 1].bar.begin;)
		n++;
	if (n < l.n)
		at = l.row[n].bar.begin;
	dt_json_print(out, "{");
	dt_answer_rows(a, l.row, n);
	if (l.pyramid->regions && at <= end)
		dt_json_print(out, ",\"next\":%lu", (unsigned long)(at - a->origin));
	dt_json_print(out, "}");
	free(l.row);
}
