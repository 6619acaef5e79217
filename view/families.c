/* SPDX-License-Identifier: MIT */
/* Threads by process. */
#include "view/families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW	100  /* groups: if there are no more, none is packed for being short-lived */
#define SHORT	50   /* one that lives for less than this part of the trace is short-lived */
#define THREADS 2000 /* that are drawn one by one, at most, but for those that are asked for */
#define TAKEN	200  /* processes in `take' */
#define ROWS	12   /* of packed processes */
#define NAMED	100  /* packed processes that are found by their names */
#define ASKED	200  /* processes in a request for sums, threads in one for names */
#define CELLS	4096

/* Returns the next number of a list with commas between, and moves *list behind it. False: it is
 * none. */
static bool next_number(const char **list, uint32_t *v)
{
	char *end;
	unsigned long n = strtoul(*list, &end, 10);

	if (**list < '0' || **list > '9' || (*end && *end != ',') || n > UINT32_MAX)
		return false;
	*v = (uint32_t)n;
	*list = *end ? end + 1 : end;
	return true;
}

/* ---- groups ---- */

static int by_pid(const void *a, const void *b, void *pyramid)
{
	const struct dt_pyramid *p = pyramid;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint32_t x = dt_family_pid(&p->track[i]), y = dt_family_pid(&p->track[j]);

	if (x != y)
		return x < y ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void add_track(struct dt_family *g, const struct dt_track *t)
{
	g->begin = !g->threads || t->begin < g->begin ? t->begin : g->begin;
	g->end = !g->threads || t->end > g->end ? t->end : g->end;
	g->count += t->count;
	g->threads++;
}

const struct dt_family *dt_families_of(const struct dt_families *g, uint32_t pid)
{
	uint32_t low = 0, high = g->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (g->group[middle].pid == pid)
			return &g->group[middle];
		if (g->group[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

struct rank {
	uint32_t group;
	bool taken, brief;
	uint64_t count;
};

/* First those that are asked for, then those that live long, and of these the busiest. */
static int by_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->taken != y->taken)
		return x->taken ? -1 : 1;
	if (x->brief != y->brief)
		return x->brief ? 1 : -1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static bool mark_taken(struct dt_asked *a, const struct dt_families *g, struct rank *rank)
{
	const char *list = a->r->value(a->r->ctx, "take");
	unsigned n = 0;
	uint32_t pid;

	while (list && *list) {
		const struct dt_family *x;

		if (!next_number(&list, &pid) || ++n > TAKEN) {
			dt_refuse(a, 400, "take: at most 200 numbers with commas between");
			return false;
		}
		x = dt_families_of(g, pid);
		if (x)
			rank[x - g->group].taken = true;
	}
	return true;
}

/* Decides which groups are packed. */
static bool pack(struct dt_asked *a, struct dt_families *g)
{
	const struct dt_pyramid *p = a->p->pyramid;
	uint64_t least = g->n > FEW ? (p->end - p->begin) / SHORT : 0;
	struct rank *rank = calloc(g->n + 1ul, sizeof(*rank));
	uint32_t threads = 0;

	if (!rank) {
		dt_refuse(a, 500, "out of memory");
		return false;
	}
	for (uint32_t i = 0; i < g->n; i++)
		rank[i] = (struct rank){i, false, g->group[i].end - g->group[i].begin < least,
					g->group[i].count};
	if (!mark_taken(a, g, rank)) {
		free(rank);
		return false;
	}
	if (g->n)
		qsort(rank, g->n, sizeof(*rank), by_rank);
	for (uint32_t i = 0; i < g->n; i++) {
		struct dt_family *x = &g->group[rank[i].group];

		x->packed =
			!rank[i].taken && (rank[i].brief || threads + x->threads > THREADS) && i;
		threads += x->packed ? 0 : x->threads;
		g->packed += x->packed;
		g->packed_threads += x->packed ? x->threads : 0;
	}
	free(rank);
	return true;
}

bool dt_families_find(struct dt_asked *a, struct dt_families *g)
{
	const struct dt_pyramid *p = a->p->pyramid;
	uint32_t n = 0;

	*g = (struct dt_families){.track = calloc(p->tracks + 1ul, sizeof(*g->track)),
				  .group = calloc(p->tracks + 1ul, sizeof(*g->group))};
	if (!g->track || !g->group) {
		dt_refuse(a, 500, "out of memory");
		goto fail;
	}
	for (uint32_t i = 0; i < p->tracks; i++)
		if (p->track[i].kind == DT_TRACK_THREAD)
			g->track[n++] = i;
	if (n)
		qsort_r(g->track, n, sizeof(*g->track), by_pid, a->p->pyramid);
	for (uint32_t i = 0; i < n; i++) {
		const struct dt_track *t = &p->track[g->track[i]];

		if (!i || dt_family_pid(t) != g->group[g->n - 1].pid)
			g->group[g->n++] = (struct dt_family){.pid = dt_family_pid(t), .first = i};
		add_track(&g->group[g->n - 1], t);
	}
	if (pack(a, g))
		return true;
fail:
	dt_families_free(g);
	return false;
}

void dt_families_free(struct dt_families *g)
{
	free(g->group);
	free(g->track);
	*g = (struct dt_families){0};
}

/* ---- packed processes ---- */

/* A bar of a row: one process, or several that are too near each other to be told apart. */
struct packed {
	uint64_t begin, end, count, longest;
	uint32_t pid; /* of several, that which lived longest */
};

static void say_packed(struct dt_asked *a, unsigned row, const struct packed *x, bool *any)
{
	struct dt_json *out = &a->answer->text;
	const struct dt_reader *r = dt_windows_reader(a->p->windows);
	const struct dt_process_info *info;

	if (!x->count)
		return;
	info = dt_reader_process(r, x->pid);
	dt_json_print(out, "%s[%u,%lu,%lu,%lu,%u,%u,", *any ? "," : "", row,
		      (unsigned long)(x->begin - a->origin), (unsigned long)(x->end - a->origin),
		      (unsigned long)x->count, x->pid, dt_reader_number(r, x->pid));
	dt_json_string(out, info ? info->cmdline : "");
	dt_json_print(out, "]");
	*any = true;
}

static int by_begin(const void *a, const void *b)
{
	const struct dt_family *x = *(const struct dt_family *const *)a,
			       *y = *(const struct dt_family *const *)b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Puts a process into its row: it is joined with the bar before if both begin in one cell, and
 * either is too narrow for its name. */
static void put(struct dt_asked *a, unsigned row, struct packed *last, const struct dt_family *g,
		uint64_t cell, bool *any)
{
	uint64_t length = g->end - g->begin;
	bool near =
		last->count && (g->begin - a->origin) / cell == (last->begin - a->origin) / cell;

	if (near && (length < 4 * cell || last->longest < 4 * cell)) {
		last->pid = length > last->longest ? g->pid : last->pid;
		last->longest = length > last->longest ? length : last->longest;
		last->end = g->end > last->end ? g->end : last->end;
		last->count++;
		return;
	}
	say_packed(a, row, last, any);
	*last = (struct packed){g->begin, g->end, 1, length, g->pid};
}

/* Rows are given to all processes, whatever the window is, so that none jumps from row to row. */
static void say_rows(struct dt_asked *a, const struct dt_family **list, uint32_t n, uint64_t from,
		     uint64_t to, uint64_t cell)
{
	struct packed last[ROWS] = {{0}};
	uint64_t until[ROWS] = {0};
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		unsigned row = 0, first = 0;

		while (row < ROWS && until[row] >= list[i]->begin) {
			first = until[row] < until[first] ? row : first;
			row++;
		}
		row = row < ROWS ? row : first;
		until[row] = list[i]->end > until[row] ? list[i]->end : until[row];
		if (list[i]->end >= from && list[i]->begin <= to)
			put(a, row, &last[row], list[i], cell, &any);
	}
	for (unsigned row = 0; row < ROWS; row++)
		say_packed(a, row, &last[row], &any);
}

/* Answers with those whose command line contains a text, one by one, without rows. */
static void say_named(struct dt_asked *a, const struct dt_family **list, uint32_t n,
		      const char *text)
{
	const struct dt_reader *r = dt_windows_reader(a->p->windows);
	uint32_t found = 0;
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		const struct dt_family *g = list[i];
		const struct dt_process_info *info = dt_reader_process(r, g->pid);

		if (info && strcasestr(info->cmdline, text) && ++found <= NAMED)
			say_packed(a, 0, &(struct packed){g->begin, g->end, 1, 0, g->pid}, &any);
	}
	dt_json_print(&a->answer->text, "],\"found\":%u}", found);
}

/* Answers with the packed processes of a window, as [row, begin, end, how many, pid, number,
 * command line]; with `name=' those that have it in their command line. */
void dt_answer_packed(struct dt_asked *a)
{
	const struct dt_family **list;
	struct dt_families g;
	uint64_t from, to, cells;
	uint32_t n = 0;

	if (!dt_asked_range(a, &from, &to) || !dt_asked_number(a, "cells", 1, CELLS, &cells) ||
	    !dt_families_find(a, &g))
		return;
	list = calloc(g.n + 1ul, sizeof(struct dt_family *));
	if (!list) {
		dt_refuse(a, 500, "out of memory");
		dt_families_free(&g);
		return;
	}
	for (uint32_t i = 0; i < g.n; i++)
		if (g.group[i].packed)
			list[n++] = &g.group[i];
	if (n)
		qsort(list, n, sizeof(struct dt_family *), by_begin);
	dt_json_print(&a->answer->text, "{\"processes\":%u,\"bars\":[", n);
	if (a->r->value(a->r->ctx, "name")) {
		say_named(a, list, n, a->r->value(a->r->ctx, "name"));
	} else {
		say_rows(a, list, n, from, to, (to - from) / cells + 1);
		dt_json_print(&a->answer->text, "]}");
	}
	free(list);
	dt_families_free(&g);
}

/* ---- sums of processes ---- */

/* Adds the time that the outermost calls of a thread took in each cell. */
static int add_busy(struct dt_asked *a, uint32_t track, const struct dt_window *w, double *cell,
		    size_t cells, struct dt_bar_list *bars, struct dt_error *e)
{
	uint64_t first = w->from >> w->shift;

	if (dt_window_bars(a->p->windows, track, w, bars, e) < 0)
		return -1;
	for (size_t i = 0; i < bars->n; i++) {
		const struct dt_bar *x = &bars->bar[i];
		uint64_t begin = x->begin > w->from ? x->begin : w->from;
		uint64_t end = x->end < w->to ? x->end : w->to;
		double share =
			x->end > x->begin ? (double)x->busy / (double)(x->end - x->begin) : 0;

		for (uint64_t k = begin >> w->shift; begin < end && k <= end >> w->shift; k++) {
			uint64_t low = k << w->shift, high = (k + 1) << w->shift;

			low = low > begin ? low : begin;
			high = high < end ? high : end;
			if (k - first < cells && high > low)
				cell[k - first] += share * (double)(high - low);
		}
	}
	return 0;
}

static int say_busy(struct dt_asked *a, const struct dt_families *all, const struct dt_family *g,
		    const struct dt_window *w, struct dt_error *e)
{
	size_t cells = (size_t)((w->to >> w->shift) - (w->from >> w->shift)) + 1;
	double *cell = calloc(cells, sizeof(*cell));
	struct dt_json *out = &a->answer->text;
	struct dt_bar_list bars = {0};
	int rc = cell ? 0 : dt_fail(e, "out of memory");

	for (uint32_t i = 0; rc == 0 && i < g->threads; i++) {
		const struct dt_track *t = &a->p->pyramid->track[all->track[g->first + i]];

		if (t->end >= w->from && t->begin <= w->to)
			rc = add_busy(a, all->track[g->first + i], w, cell, cells, &bars, e);
	}
	for (size_t k = 0; rc == 0 && k < cells; k++)
		dt_json_print(out, "%s%ld", k ? "," : "",
			      lround(cell[k] * 1000 / (double)(1ull << w->shift)));
	free(bars.bar);
	free(cell);
	return rc;
}

/* Answers with how many threads of each process were in calls, in thousandths, for each cell of a
 * window. */
void dt_answer_groups(struct dt_asked *a)
{
	const char *list = a->r->value(a->r->ctx, "pids");
	struct dt_json *out = &a->answer->text;
	struct dt_window w = {.depths = 1};
	struct dt_error e = {""};
	struct dt_families g;
	uint64_t cells;
	uint32_t pid;
	unsigned n = 0;

	if (!dt_asked_range(a, &w.from, &w.to) || !dt_asked_number(a, "cells", 1, CELLS, &cells) ||
	    !dt_families_find(a, &g))
		return;
	w.shift = dt_window_shift(w.from, w.to, (unsigned)cells);
	dt_json_print(out, "{\"begin\":%ld,\"cell\":%lu,\"groups\":[",
		      (long)((w.from >> w.shift << w.shift) - a->origin), 1ul << w.shift);
	while (list && *list) {
		const struct dt_family *x;

		if (!next_number(&list, &pid) || ++n > ASKED) {
			dt_refuse(a, 400, "pids: at most 200 numbers with commas between");
			goto out;
		}
		x = dt_families_of(&g, pid);
		dt_json_print(out, "%s[%u,[", n > 1 ? "," : "", pid);
		if (x && say_busy(a, &g, x, &w, &e) < 0) {
			dt_refuse(a, 500, e.text);
			goto out;
		}
		dt_json_print(out, "]]");
	}
	dt_json_print(out, "]}");
out:
	dt_families_free(&g);
}

/* Answers with the names of threads: by number [name, process, its number, its command line]. */
void dt_answer_who(struct dt_asked *a)
{
	const struct dt_reader *r = dt_windows_reader(a->all->windows);
	const char *list = a->r->value(a->r->ctx, "ids");
	struct dt_json *out = &a->answer->text;
	unsigned n = 0;
	uint32_t tid;

	dt_json_print(out, "{");
	while (list && *list) {
		const struct dt_thread_info *t;
		const struct dt_process_info *p;

		if (!next_number(&list, &tid) || ++n > ASKED) {
			dt_refuse(a, 400, "ids: at most 200 numbers with commas between");
			return;
		}
		t = dt_reader_thread(r, tid);
		p = dt_reader_process(r, t && t->pid ? t->pid : tid);
		dt_json_print(out, "%s\"%u\":[", n > 1 ? "," : "", tid);
		dt_thread_name(a, t, tid);
		dt_json_print(out, ",%u,%u,", t && t->pid ? t->pid : tid,
			      dt_reader_number(r, t && t->pid ? t->pid : tid));
		dt_json_string(out, p ? p->cmdline : "");
		dt_json_print(out, "]");
	}
	dt_json_print(out, "}");
}
