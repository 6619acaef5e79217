/* SPDX-License-Identifier: MIT */
/* A report as a table: rows of functions or groups, and what stands below them. */
#include "cmd/report-work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "cmd/table.h"
#include "show/marks.h"

#define TEXT   4096 /* bytes of a name that are shown */
#define WIDEST 60   /* columns that a name is padded to, and that columns are left out for */

static const char *const key_name[DT_GROUP_KEYS] = {
	[DT_GROUP_FUNCTION] = "function", [DT_GROUP_CALLER] = "caller",
	[DT_GROUP_THREAD] = "thread",	  [DT_GROUP_PROCESS] = "process",
	[DT_GROUP_MODULE] = "module",	  [DT_GROUP_HOST] = "host"};

/* ---- groups ---- */

static bool add_key(struct dt_groups *g, const char *word, size_t n)
{
	for (uint8_t k = 0; k < DT_GROUP_KEYS; k++) {
		if (strlen(key_name[k]) != n || memcmp(key_name[k], word, n))
			continue;
		for (unsigned i = 0; i < g->keys; i++)
			if (g->key[i] == k)
				return true;
		g->key[g->keys++] = k;
		return true;
	}
	dt_cmd_fail("--by: '%.*s' is none; there are function, caller, thread, process, module, "
		    "host, and several of them with commas between",
		    (int)(n < 100 ? n : 100), word);
	return false;
}

bool dt_report_by(struct dt_groups *g, const char *text)
{
	g->keys = 0;
	for (;; text++) {
		size_t n = strcspn(text, ",");

		if (!add_key(g, text, n))
			return false;
		text += n;
		if (!*text)
			return true;
	}
}

bool dt_report_can_group(const struct report *o)
{
	const char *host = o->hosts.n ? o->hosts.host->name : dt_reader_meta(o->reader, "host");

	for (unsigned i = 0; i < o->groups.keys; i++)
		if (o->groups.key[i] == DT_GROUP_HOST && !(host && *host)) {
			dt_cmd_fail("--by host: the trace does not say on which machine it was "
				    "recorded");
			return false;
		}
	return true;
}

void dt_report_part(const struct report *o, uint32_t group, enum dt_group_key key, char *text,
		    size_t size)
{
	uint32_t part = group < DT_GROUPS_MOST ? o->groups.group[group].part[key] : 0;
	const struct dt_thread_info *t;
	const struct dt_process_info *p;
	const struct dt_module_info *m;
	const char *slash;

	if (group >= DT_GROUPS_MOST) {
		dt_format(text, size, "(others)");
		return;
	}
	switch (key) {
	case DT_GROUP_FUNCTION:
		dt_format(text, size, "%s", dt_reader_function_name(o->reader, part));
		break;
	case DT_GROUP_CALLER:
		dt_format(text, size, "%s",
			  part ? dt_reader_function_name(o->reader, part) : "(no caller)");
		break;
	case DT_GROUP_THREAD:
		t = dt_reader_thread(o->reader, part);
		dt_format(text, size, "%u%s%s", dt_reader_number(o->reader, part),
			  t && *t->name ? " " : "", t ? t->name : "");
		break;
	case DT_GROUP_PROCESS:
		p = dt_reader_process(o->reader, part);
		slash = p ? strrchr(p->exe, '/') : NULL;
		dt_format(text, size, "%u%s%s", dt_reader_number(o->reader, part),
			  p && *p->exe ? " " : "",
			  slash ? slash + 1
			  : p	? p->exe
				: "");
		break;
	case DT_GROUP_MODULE:
		m = dt_reader_module(o->reader, part);
		dt_format(text, size, "%s", m && *m->path ? m->path : "?");
		break;
	default:
		dt_format(text, size, "%s",
			  part && part <= o->hosts.n ? o->hosts.host[part - 1].name
			  : o->hosts.n		     ? "?"
						     : dt_reader_meta(o->reader, "host"));
	}
}

/* ---- what the tracer took ---- */

const struct dt_function_stats *dt_report_held(const struct report *o)
{
	return o->held.functions && o->held.function[0].timed ? &o->held.function[0] : NULL;
}

struct dt_missed_sum dt_report_missed(const struct report *o, uint32_t function)
{
	return dt_missed_of(&o->missed, function, o->from, o->to);
}

static const char *why_text(const char *word)
{
	static const char *const text[][2] = {{"room", "for room"},
					      {"modules", "for what was loaded"},
					      {"exec", "at an execve"},
					      {"fork", "at a fork"},
					      {"stop", "stopped"}};

	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		if (!strcmp(word, text[i][0]))
			return text[i][1];
	return word;
}

/* Says how many waits could not be noted, because there was no free place to note them in. */
static void say_missed(const struct dt_reader *r)
{
	const char *text = dt_reader_meta(r, "held_missed");
	unsigned long n, ns;

	if (text && sscanf(text, "%lu %lu", &n, &ns) == 2 && n)
		dt_cmd_fail(
			"note: %lu more waits for devtrace, of %.3f ms together, could not be told apart: "
			"they are in the times",
			n, (double)ns / 1e6);
}

static void print_held(const struct report *o)
{
	const struct dt_function_stats *f = dt_report_held(o);
	const char *separator = "  (";
	struct dt_function_stats sum;

	say_missed(o->reader);
	if (!f)
		return;
	sum = *f;
	/* waits of several threads at a time all count */
	sum.total = sum.self = sum.sum;
	dt_report_print_columns(o, &sum, true);
	printf("waiting for devtrace, in no other row");
	for (size_t i = 0; i < DT_REPORT_WHYS && o->why[i].times; i++) {
		printf("%s%llu %s", separator, (unsigned long long)o->why[i].times,
		       why_text(o->why[i].word));
		separator = ", ";
	}
	puts(")");
}

/* Says how many records there are that are no calls: they are not in the table. */
static void print_others(const struct report *o)
{
	static const struct {
		char kind;
		const char *what;
	} names[] = {{DT_EVENT, "events"},
		     {DT_SEND, "messages sent"},
		     {DT_RECEIVE, "messages received"},
		     {DT_SWITCH, "switches"},
		     {DT_RUNDOWN, "rundowns"},
		     {DT_WAKE, "wake-ups"},
		     {DT_POINT, "points"}};
	const char *separator = "beside calls: ";
	bool asked = dt_feed_switches_asked(o->reader);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t n = o->others[(uint8_t)names[i].kind];

		if (!n || (!asked && (names[i].kind == DT_SWITCH || names[i].kind == DT_RUNDOWN)))
			continue;
		printf("%s%llu %s", separator, (unsigned long long)n, names[i].what);
		separator = ", ";
	}
	if (separator[0] == ',')
		putchar('\n');
}

/* ---- names ---- */

/* The widths of what stands behind the columns: of each key, the last one included. */
struct names {
	unsigned width[DT_GROUP_KEYS], n, all;
};

/* Returns what a row has at its i-th key; without --by that is the function's name. */
static const char *name_at(const struct report *o, const struct dt_stats_row *row, unsigned i,
			   char *text)
{
	if (!o->groups.keys)
		return row->name;
	dt_report_part(o, row->s->function, (enum dt_group_key)o->groups.key[i], text, TEXT);
	return dt_cmd_plain(text);
}

static struct names measure(const struct report *o, const struct dt_stats_row *row, size_t n)
{
	struct names w = {.n = o->groups.keys ? o->groups.keys : 1};
	char text[TEXT];

	for (unsigned i = 0; i < w.n; i++) {
		w.width[i] =
			(unsigned)strlen(o->groups.keys ? key_name[o->groups.key[i]] : "function");
		for (size_t k = 0; k < n && (!o->rows || k < o->rows); k++) {
			const char *name = name_at(o, &row[k], i, text);
			unsigned width = dt_terminal_width(&o->terminal, name, strlen(name));

			width = width < WIDEST ? width : WIDEST;
			w.width[i] = width > w.width[i] ? width : w.width[i];
		}
		w.all += w.width[i] + (i ? 2 : 0);
	}
	return w;
}

/* Lets the names have so many columns together: the widest ones give most. */
static void narrow(struct names *w, unsigned room)
{
	while (w->all > room) {
		unsigned widest = 0;

		for (unsigned i = 1; i < w->n; i++)
			if (w->width[i] > w->width[widest])
				widest = i;
		if (w->width[widest] < 5)
			return;
		w->width[widest]--;
		w->all--;
	}
}

/* Prints a name in its columns: padded unless it is the last, cut in the middle at a terminal. */
static void print_name(const struct report *o, const char *name, unsigned width, bool last)
{
	size_t n = strlen(name);
	unsigned used = dt_terminal_width(&o->terminal, name, n);
	char text[TEXT + 8];

	if (o->terminal.columns && used > width && n <= TEXT) {
		n = dt_terminal_middle(&o->terminal, text, name, n, width);
		fwrite(text, 1, n, stdout);
		used = dt_terminal_width(&o->terminal, text, n);
	} else {
		fputs(name, stdout);
	}
	if (!last)
		printf("%*s", (int)(width > used ? width - used : 0) + 2, "");
}

static void print_row(const struct report *o, const struct names *w, const struct dt_stats_row *row)
{
	unsigned room = w->width[w->n - 1];
	char marks[512], text[TEXT];
	struct dt_missed_sum missed;

	dt_report_print_columns(o, row->s, false);
	for (unsigned i = 0; i < w->n; i++)
		print_name(o, name_at(o, row, i, text), i + 1 < w->n ? w->width[i] : room,
			   i + 1 == w->n);
	dt_reasons_print(&o->reasons, row->s->function);
	dt_marks_of_function(row->s, marks, sizeof(marks));
	fputs(marks, stdout);
	missed = dt_report_missed(o, row->s->function);
	if (missed.times)
		printf("  (off for %.3f s of the time to keep to the budget: some %llu calls more, "
		       "an estimate)",
		       (double)missed.ticks * dt_reader_ns_per_tick(o->reader) / 1e9,
		       (unsigned long long)missed.calls);
	putchar('\n');
}

void dt_report_print_table(struct report *o, const struct dt_stats_row *row, size_t n)
{
	struct names w = measure(o, row, n);
	struct report with = *o;
	unsigned columns;

	dt_report_columns(&with, w.all);
	columns = dt_report_width(&with);
	if (o->terminal.columns) {
		unsigned room = o->terminal.columns > columns ? o->terminal.columns - columns : 1;

		narrow(&w, room);
		/* the last one has what is left */
		w.width[w.n - 1] += room > w.all ? room - w.all : 0;
	}
	dt_report_print_heads(&with);
	for (unsigned i = 0; i < w.n; i++)
		print_name(o, o->groups.keys ? key_name[o->groups.key[i]] : "function", w.width[i],
			   i + 1 == w.n);
	putchar('\n');
	for (size_t i = 0; i < n && (!o->rows || i < o->rows); i++)
		print_row(&with, &w, &row[i]);
	if (!n)
		puts(o->failed		? dt_cmd_none_failed
		     : o->choice.filter ? dt_cmd_none_meant
					: "no calls");
	with.run = o->run;
	dt_report_run_print(&with, &o->run);
	o->run = with.run;
	print_held(&with);
	print_others(o);
	if (o->subtract)
		dt_table_costs(o->reader);
}
