/* SPDX-License-Identifier: MIT */
/*
 * devtrace report of a fleet: the tables of its traces, summed up. Each machine measures its calls
 * by its own clock; for the sums, times are in the reference's ticks.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fleet.h"
#include "cmd/report-work.h"

#define TEXT 4096 /* bytes of a row's name */

struct sum {
	char *name; /* what the row has at each key, with tabs between */
	struct dt_function_stats s;
};

struct table {
	void *tree; /* of the sums, by name: tsearch(3) */
	struct sum **sum;
	size_t n, room;
	bool failed;
};

static uint64_t scaled(uint64_t ticks, double by)
{
	return by == 1 ? ticks : (uint64_t)((double)ticks * by + 0.5);
}

/* Adds what a host has; by: its tick in ticks of the reference. */
static void add_stats(struct table *t, struct dt_function_stats *to,
		      const struct dt_function_stats *s, double by)
{
	uint64_t min = scaled(s->min, by), max = scaled(s->max, by);

	if (s->timed && (!to->timed || min < to->min))
		to->min = min;
	to->max = max > to->max ? max : to->max;
	to->calls += s->calls;
	to->timed += s->timed;
	to->unwound += s->unwound;
	to->tail += s->tail;
	to->open += s->open;
	to->no_exit += s->no_exit;
	to->no_entry += s->no_entry;
	to->loss += s->loss;
	to->paused += s->paused;
	to->backward += s->backward;
	to->total += scaled(s->total, by);
	to->self += scaled(s->self, by);
	to->sum += scaled(s->sum, by);
	to->squares +=
		by == 1 ? s->squares : (unsigned __int128)((long double)s->squares * by * by);
	to->waited += scaled(s->waited, by);
	to->waited_self += scaled(s->waited_self, by);
	to->preempted += scaled(s->preempted, by);
	if (!s->bucket)
		return;
	if (!to->bucket && !(to->bucket = calloc(DT_BUCKETS, sizeof(*to->bucket)))) {
		t->failed = true;
		return;
	}
	for (unsigned i = 0; i < DT_BUCKETS; i++)
		if (s->bucket[i])
			to->bucket[by == 1 ? i : dt_stats_bucket(scaled(dt_stats_lowest(i), by))] +=
				s->bucket[i];
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sum *)a)->name, ((const struct sum *)b)->name);
}

/* Returns the sum of that name, adding it; NULL: out of memory. */
static struct sum *sum_of(struct table *t, char *name)
{
	struct sum wanted = {.name = name}, *new;
	struct sum *const *found = tfind(&wanted, &t->tree, by_name);
	struct sum **more;

	if (found)
		return *found;
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 256;
		more = realloc(t->sum, t->room * sizeof(*more));
		if (!more)
			return NULL;
		t->sum = more;
	}
	new = calloc(1, sizeof(*new));
	if (!new || !(new->name = strdup(name)) || !tsearch(new, &t->tree, by_name)) {
		free(new);
		return NULL;
	}
	return t->sum[t->n++] = new;
}

static void keep(void *sum)
{
	(void)sum;
}

static void free_table(struct table *t)
{
	tdestroy(t->tree, keep);
	for (size_t i = 0; i < t->n; i++) {
		free(t->sum[i]->name);
		free(t->sum[i]->s.bucket);
		free(t->sum[i]);
	}
	free(t->sum);
}

/* Writes what a row of one host has at the keys, with tabs between. */
static void name_row(const struct report *o, const char *host, const struct dt_stats_row *row,
		     char *to)
{
	size_t n = 0;

	if (!o->groups.keys) {
		dt_format(to, TEXT, "%s", row->name);
		return;
	}
	for (unsigned i = 0; i < o->groups.keys && n < TEXT; i++) {
		char part[1024];

		dt_report_part(o, row->s->function, (enum dt_group_key)o->groups.key[i], part,
			       sizeof(part));
		n += dt_format(to + n, TEXT - n, "%s%s", i ? "\t" : "",
			       o->groups.key[i] == DT_GROUP_HOST ? host : part);
	}
}

/* Adds the table of one host. */
static int add_host(struct table *t, const struct report *options, const struct dt_fleet *f,
		    struct dt_reader **reader, uint32_t host)
{
	struct report o = *options;
	double by = f->host[host].ns_per_tick / f->host[f->reference].ns_per_tick;
	struct dt_stats_row *row = NULL;
	struct dt_fleet_window window;
	char text[TEXT];
	size_t n = 0;
	int status;

	if (!dt_fleet_window(&window, f, reader, &options->when, host))
		return 2;
	o.fleet = true;
	o.when = window.when;
	status = dt_report_read(reader[host], &o, &row, &n);
	for (size_t i = 0; i < n && !status; i++) {
		struct sum *to;

		name_row(&o, f->host[host].name, &row[i], text);
		to = sum_of(t, text);
		if (to)
			add_stats(t, &to->s, row[i].s, by);
		t->failed |= !to;
	}
	if (row)
		dt_report_free_rows(&o, row, n);
	dt_report_free(&o);
	return status ? status : t->failed ? dt_cmd_fail("out of memory") : 0;
}

static void print_names(const char *name, const unsigned *width)
{
	unsigned i = 0;

	for (;; i++) {
		size_t n = strcspn(name, "\t");
		bool last = !name[n];

		printf("%.*s", (int)n, name);
		if (last)
			break;
		printf("%*s", (int)(width[i] > n ? width[i] - n : 0) + 2, "");
		name += n + 1;
	}
	putchar('\n');
}

static int print(struct report *o, struct table *t)
{
	static const char *const key_name[DT_GROUP_KEYS] = {
		[DT_GROUP_FUNCTION] = "function", [DT_GROUP_CALLER] = "caller",
		[DT_GROUP_THREAD] = "thread",	  [DT_GROUP_PROCESS] = "process",
		[DT_GROUP_MODULE] = "module",	  [DT_GROUP_HOST] = "host"};
	struct dt_stats_row *row = calloc(t->n + 1, sizeof(*row));
	unsigned width[DT_GROUP_KEYS] = {0};
	char head[200] = "";

	if (!row)
		return dt_cmd_fail("out of memory");
	for (unsigned k = 0; k < o->groups.keys; k++) {
		dt_format(head + strlen(head), sizeof(head) - strlen(head), "%s%s", k ? "\t" : "",
			  key_name[o->groups.key[k]]);
		width[k] = (unsigned)strlen(key_name[o->groups.key[k]]);
	}
	for (size_t i = 0; i < t->n; i++) {
		const char *p = t->sum[i]->name;

		row[i] = (struct dt_stats_row){&t->sum[i]->s, t->sum[i]->name,
					       dt_stats_value(&t->sum[i]->s, o->key)};
		for (unsigned k = 0; k < o->groups.keys; k++) {
			size_t n = strcspn(p, "\t");

			width[k] = n > width[k] ? (unsigned)n : width[k];
			p += n + (p[n] != '\0');
		}
	}
	qsort(row, t->n, sizeof(*row), dt_stats_row_compare);
	dt_report_columns(o, 40);
	dt_report_print_heads(o);
	print_names(*head ? head : "function", width);
	for (size_t i = 0; i < t->n && (!o->rows || i < o->rows); i++) {
		dt_report_print_columns(o, row[i].s, false);
		print_names(row[i].name, width);
	}
	if (!t->n)
		puts("no calls");
	if (o->rows && t->n > o->rows)
		dt_cmd_fail("note: %zu more rows: without -n all are shown",
			    t->n - (size_t)o->rows);
	free(row);
	return fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table") : 0;
}

bool dt_report_fleet_can(const struct report *o)
{
	return !o->json && !o->left_out && !o->budget && !o->waiting && !o->failed;
}

int dt_report_fleet(struct report *o, const char *path)
{
	struct dt_needs needs = {.n = 0};
	struct table t = {.n = 0};
	struct dt_reader **reader;
	struct dt_fleet *f;
	int status;

	f = dt_fleet_open_all(path, &needs, &reader, &status);
	if (!f)
		return status;
	for (uint32_t i = 0; i < f->hosts && !status; i++)
		status = add_host(&t, o, f, reader, i);
	o->reader = reader[f->reference];
	if (!status)
		status = print(o, &t);
	if (status != 2)
		dt_fleet_say_lost(f, reader);
	free_table(&t);
	dt_fleet_close_all(f, reader);
	return status;
}
