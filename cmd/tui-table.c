/* SPDX-License-Identifier: MIT */
/* devtrace tui: the table of functions, as devtrace report has it. */
#include <stdlib.h>
#include <string.h>

#include "analyse/chosen.h"
#include "analyse/pair.h"
#include "cmd/tui-work.h"
#include "show/marks.h"

#define WIDE 125 /* columns of the screen from which on all columns of the table are shown */

static const struct dt_tui_key keys[] = {
	{'t', "total", DT_STATS_TOTAL}, {'s', "self", DT_STATS_SELF},	{'p', "cpu", DT_STATS_CPU},
	{'w', "wait", DT_STATS_WAIT},	{'c', "calls", DT_STATS_CALLS}, {'a', "avg", DT_STATS_AVG},
	{'i', "min", DT_STATS_MIN},	{'5', "p50", DT_STATS_P50},	{'9', "p99", DT_STATS_P99},
	{'m', "max", DT_STATS_MAX},	{'n', "name", DT_STATS_NAME},	{0}};

/* Says whether a column is on the screen. */
static bool is_seen(const struct tui *t, int i)
{
	int key = keys[i].value, rows, columns;

	dt_screen_size(&rows, &columns);
	if (key == DT_STATS_NAME || ((key == DT_STATS_CPU || key == DT_STATS_WAIT) && !t->waits))
		return false;
	return columns >= WIDE || key == DT_STATS_TOTAL || key == DT_STATS_SELF ||
	       key == DT_STATS_CALLS || i == t->place[DT_TUI_FUNCTIONS].sort;
}

/* ---- reading ---- */

struct reading {
	struct tui *t;
	struct dt_choosing choice;
};

static void on_begin(void *ctx, const struct dt_call *c)
{
	const struct reading *k = ctx;

	dt_chosen_begin(&k->choice, c);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct reading *k = ctx;

	if (!k->choice.filter || dt_chosen_end(&k->choice, c))
		dt_stats_call(&k->t->stats, c);
}

static int read_spans(struct reading *k, struct dt_error *e)
{
	struct dt_filter *f = k->choice.filter;
	struct dt_pair_events events = {.begin = f ? on_begin : NULL, .end = on_end, .ctx = k};
	struct dt_reader_range range = {.order = DT_BY_THREAD,
					.values = f && dt_filter_needs_values(f)};
	struct dt_pair *p = dt_pair_new(k->t->reader, &events, range.values);
	struct dt_span s;
	int rc = p ? dt_reader_start(k->t->reader, &range, e) : dt_fail(e, "out of memory");
	uint64_t records = 0;

	k->choice.pair = p;
	while (!rc && (rc = dt_reader_next(k->t->reader, &s, e)) > 0) {
		k->choice.span = &s;
		records += s.n;
		rc = dt_pair_span(p, &s) ? dt_fail(e, "out of memory") : 0;
	}
	k->choice.span = NULL;
	if (!rc)
		dt_pair_finish(p);
	if (!rc &&
	    dt_pair_sound(k->t->reader, records, k->t->summary.records, dt_pair_impossible(p), e))
		dt_format(k->t->unsound, sizeof(k->t->unsound), "%s", e->text);
	dt_pair_free(p);
	if (!rc && (k->t->stats.no_memory || (f && dt_filter_failed(f))))
		rc = dt_fail(e, "out of memory");
	return rc;
}

static int row_compare(const void *a, const void *b, void *reversed)
{
	int c = dt_stats_row_compare(a, b);

	return *(const bool *)reversed ? -c : c;
}

static void sort(struct tui *t)
{
	struct dt_tui_place *p = &t->place[DT_TUI_FUNCTIONS];

	if (!t->waits &&
	    (keys[p->sort].value == DT_STATS_CPU || keys[p->sort].value == DT_STATS_WAIT)) {
		dt_tui_warn(t, "no switches in this trace: record with -S");
		p->sort = 0;
	}
	for (size_t i = 0; i < t->rows; i++)
		t->row[i].key = dt_stats_value(t->row[i].s, (enum dt_stats_key)keys[p->sort].value);
	if (t->rows)
		qsort_r(t->row, t->rows, sizeof(*t->row), row_compare, &p->reversed);
}

static int make_rows(struct tui *t, struct dt_error *e)
{
	t->rows = 0;
	t->row = calloc(t->stats.functions + 1, sizeof(*t->row));
	if (!t->row)
		return dt_fail(e, "out of memory");
	for (uint32_t i = 0; i < t->stats.functions; i++) {
		const struct dt_function_stats *f = &t->stats.function[i];

		if (f->calls || f->no_entry)
			t->row[t->rows++] = (struct dt_stats_row){
				.s = f, .name = dt_reader_function_name(t->reader, i)};
	}
	return 0;
}

static void drop(struct tui *t)
{
	dt_stats_free(&t->stats);
	t->stats = (struct dt_stats){0};
	free(t->row);
	t->row = NULL;
	t->rows = 0;
	t->has_stats = false;
}

static bool make(struct tui *t)
{
	struct reading k = {t, {.reader = t->reader}};
	struct dt_error e = {""};
	int rc = 0;

	if (t->has_stats)
		return true;
	dt_tui_begin(t, "reading for the table", t->summary.records);
	if (t->filter[0]) {
		k.choice.filter = dt_meanings_filter(t->filter, t->reader, &e);
		rc = k.choice.filter ? 0 : -1;
	}
	dt_reader_watch(t->reader, dt_tui_step, t);
	rc = rc ? rc : read_spans(&k, &e);
	dt_reader_watch(t->reader, NULL, NULL);
	dt_filter_free(k.choice.filter);
	rc = rc ? rc : make_rows(t, &e);
	dt_tui_end(t);
	if (rc) {
		if (!t->stopped)
			dt_tui_warn(t, "%s", e.text);
		drop(t);
		return false;
	}
	t->waits = dt_feed_has_switches(t->reader);
	t->has_stats = true;
	sort(t);
	if (!t->rows)
		dt_tui_say(t, t->filter[0] ? "no call is one that -f means" : "no calls");
	return true;
}

/* ---- rows ---- */

static size_t rows(struct tui *t)
{
	return t->rows;
}

static void head(struct tui *t, char *text, size_t size)
{
	const struct dt_tui_place *p = &t->place[DT_TUI_FUNCTIONS];

	for (int i = 0; keys[i].name; i++)
		if (is_seen(t, i))
			dt_tui_append(text, size, "%c%10s ", i == p->sort ? '>' : ' ',
				      keys[i].name);
	dt_tui_append(text, size, "%cfunction", keys[p->sort].value == DT_STATS_NAME ? '>' : ' ');
}

static void row(struct tui *t, size_t i, struct dt_tui_row *to)
{
	const struct dt_function_stats *f = t->row[i].s;
	size_t size = sizeof(to->columns);
	char marks[512];

	for (int k = 0; keys[k].name; k++) {
		uint64_t v = dt_stats_value(f, (enum dt_stats_key)keys[k].value);

		if (!is_seen(t, k))
			continue;
		if (keys[k].value == DT_STATS_CALLS)
			dt_tui_append(to->columns, size, "%11llu", (unsigned long long)v);
		else if (f->timed)
			dt_tui_ticks(t, to->columns, size, v);
		else
			dt_tui_append(to->columns, size, "%11s", "-");
		dt_tui_append(to->columns, size, " ");
	}
	dt_tui_append(to->text, sizeof(to->text), " %s", t->row[i].name);
	dt_marks_of_function(f, marks, sizeof(marks));
	dt_tui_append(to->text, sizeof(to->text), "%s", marks);
}

static uint32_t function(struct tui *t, size_t i)
{
	return t->row[i].s->function;
}

static void find(struct tui *t, bool forward)
{
	struct dt_tui_place *p = &t->place[DT_TUI_FUNCTIONS];

	for (size_t k = 1; k <= t->rows; k++) {
		size_t i = (p->at + (forward ? k : t->rows - k)) % t->rows;

		if (!dt_tui_matches(t, t->row[i].name))
			continue;
		if (forward ? i <= p->at : i >= p->at)
			dt_tui_say(t, "searched on from the other end");
		p->at = i;
		return;
	}
	dt_tui_say(t, "no function with '%s' in its name is in the table", t->search);
}

const struct dt_tui_kind dt_tui_functions = {.name = "functions",
					     .keys = keys,
					     .make = make,
					     .drop = drop,
					     .rows = rows,
					     .head = head,
					     .row = row,
					     .function = function,
					     .find = find,
					     .sort = sort};
