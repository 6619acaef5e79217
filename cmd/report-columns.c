/* SPDX-License-Identifier: MIT */
/* The columns of a report: which there are, and their values. */
#include "cmd/report-work.h"

#include <stdio.h>

#include "cmd/table.h"

#define WIDTH 12 /* of a column, with the blank before it, as dt_table_time() prints it */
#define COUNT 11 /* of that of the calls */
#define GAP   2	 /* blanks before the name */
#define LEAST 14 /* columns for names, before a column is left out that has to be there */

static const struct {
	const char *name, *head;
	enum dt_stats_key key;
	bool usual;
	unsigned need; /* where there is little room, the least come first; 0: not of the usual ones
			*/
} column[DT_REPORT_FIELDS] = {
	[DT_REPORT_TOTAL] = {"total", "total", DT_STATS_TOTAL, true, 1},
	[DT_REPORT_SELF] = {"self", "self", DT_STATS_SELF, true, 2},
	[DT_REPORT_CPU] = {"cpu", "cpu", DT_STATS_CPU, true, 6},
	[DT_REPORT_WAIT] = {"wait", "wait", DT_STATS_WAIT, true, 4},
	[DT_REPORT_SELFWAIT] = {"selfwait", "self wait", DT_STATS_SELFWAIT, true, 7},
	[DT_REPORT_CALLS] = {"calls", "calls", DT_STATS_CALLS, true, 3},
	[DT_REPORT_AVG] = {"avg", "avg", DT_STATS_AVG, true, 5},
	[DT_REPORT_STDDEV] = {"stddev", "stddev", DT_STATS_STDDEV, false, 0},
	[DT_REPORT_MIN] = {"min", "min", DT_STATS_MIN, true, 11},
	[DT_REPORT_P50] = {"p50", "p50", DT_STATS_P50, true, 10},
	[DT_REPORT_P90] = {"p90", "p90", DT_STATS_P90, false, 0},
	[DT_REPORT_P95] = {"p95", "p95", DT_STATS_P95, false, 0},
	[DT_REPORT_P99] = {"p99", "p99", DT_STATS_P99, true, 9},
	[DT_REPORT_P999] = {"p99.9", "p99.9", DT_STATS_P999, false, 0},
	[DT_REPORT_MAX] = {"max", "max", DT_STATS_MAX, true, 8},
};

#define NEEDS 12

static bool is_wait(unsigned field)
{
	return field == DT_REPORT_CPU || field == DT_REPORT_WAIT || field == DT_REPORT_SELFWAIT;
}

bool dt_report_fields(struct dt_fields *f, const char *text)
{
	const char *name[DT_REPORT_FIELDS];

	for (unsigned i = 0; i < DT_REPORT_FIELDS; i++)
		name[i] = column[i].name;
	return dt_fields_parse(f, text, name, DT_REPORT_FIELDS);
}

static unsigned width_of(unsigned field)
{
	return field == DT_REPORT_CALLS ? COUNT : WIDTH;
}

/* Chooses which of the usual columns there is room for. */
static void choose(const struct report *o, unsigned names, bool *chosen)
{
	unsigned room = o->terminal.columns, used = GAP;

	/* what is sorted by is always seen */
	for (unsigned i = 0; i < DT_REPORT_FIELDS; i++) {
		chosen[i] = column[i].key == o->key && column[i].usual;
		used += chosen[i] ? width_of(i) : 0;
	}
	for (unsigned need = 1; need < NEEDS; need++)
		for (unsigned i = 0; i < DT_REPORT_FIELDS; i++) {
			/* total, self and calls are worth that a long name is cut */
			unsigned least = need > 3 ? names : room >= 70 ? 30 : LEAST;

			if (column[i].need != need || chosen[i] || (is_wait(i) && !o->waits))
				continue;
			if (room && used + width_of(i) + (names < least ? names : least) > room)
				continue;
			chosen[i] = true;
			used += width_of(i);
		}
}

void dt_report_columns(struct report *o, unsigned names)
{
	bool chosen[DT_REPORT_FIELDS];

	if (o->fields.chosen && !o->fields.also)
		return;
	choose(o, names, chosen);
	for (unsigned i = 0; i < DT_REPORT_FIELDS; i++)
		if (chosen[i])
			dt_fields_add(&o->fields, i);
}

unsigned dt_report_width(const struct report *o)
{
	unsigned width = o->fields.n ? GAP : 0;

	for (unsigned i = 0; i < o->fields.n; i++)
		width += width_of(o->fields.field[i]);
	return width;
}

void dt_report_print_heads(const struct report *o)
{
	for (unsigned i = 0; i < o->fields.n; i++)
		printf("%*s", (int)width_of(o->fields.field[i]), column[o->fields.field[i]].head);
	if (o->fields.n)
		printf("%*s", GAP, "");
}

void dt_report_print_columns(const struct report *o, const struct dt_function_stats *f, bool held)
{
	for (unsigned i = 0; i < o->fields.n; i++) {
		unsigned field = o->fields.field[i];

		if (field == DT_REPORT_CALLS)
			printf("%*llu", COUNT, (unsigned long long)f->calls);
		else if (!f->timed || (held && is_wait(field)))
			printf("%*s", WIDTH, "-");
		else if (field == DT_REPORT_STDDEV)
			dt_table_ns(dt_stats_deviation(f) * dt_reader_ns_per_tick(o->reader));
		else
			dt_table_time(o->reader, dt_stats_value(f, column[field].key));
	}
	if (o->fields.n)
		printf("%*s", GAP, "");
}
