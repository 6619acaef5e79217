/* SPDX-License-Identifier: MIT */
/* Numbers of calls over time. */
#include "analyse/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/same.h"
#include "analyse/window-work.h"
#include "filter/operand.h"
#include "process/now.h"
#include "store/store.h"

#define READ_MOST 1000000 /* records: of a range that has no more, the calls are read each time */
#define PARTS	  16	  /* cells of a region, for what is read from the records */
#define RUN	  8	  /* regions that are read at once */

/* What is kept of a region. */
struct kept {
	bool known;
	uint8_t n; /* cells */
	struct dt_plot_cell *cell;
};

/* A call whose argument is not at hand, because it began before what was read. */
struct missing {
	uint64_t begin;
	uint32_t thread, function;
	struct dt_plot_cell *cell;
};

struct dt_plot {
	uint32_t function;
	enum dt_plot_what what;
	unsigned index;
	struct dt_same same;
	const struct dt_reader *reader; /* of the windows */
	struct dt_call_operand_place *place;
	uint32_t places; /* by function row */
	struct kept *kept;
	size_t regions; /* elements of kept */
	struct missing *missing;
	size_t n, room;
	bool no_memory;
	/* while reading: where calls go */
	const struct dt_pyramid *pyramid;
	struct dt_plot_cell *edge;   /* into this cell; NULL: */
	struct dt_plot_asked *asked; /* into its columns; NULL: */
	size_t first, last;	     /* into the cells of these regions */
};

struct dt_plot *dt_plot_new(const struct dt_reader *r, uint32_t function, enum dt_plot_what what,
			    unsigned index)
{
	struct dt_plot *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->function = function;
	g->what = what;
	g->index = index;
	if (dt_same_update(&g->same, r) == 0)
		return g;
	dt_plot_free(g);
	return NULL;
}

void dt_plot_free(struct dt_plot *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->regions; i++)
		free(g->kept[i].cell);
	free(g->kept);
	free(g->missing);
	free(g->place);
	dt_same_free(&g->same);
	free(g);
}

bool dt_plot_is(const struct dt_plot *g, uint32_t function, enum dt_plot_what what, unsigned index)
{
	return g->function == function && g->what == what && g->index == index;
}

static bool is_same(const struct dt_plot *g, uint32_t function)
{
	const uint32_t *first = g->same.first;

	return function < g->same.n && g->function < g->same.n &&
	       first[function] == first[g->function];
}

/* ---- a call ---- */

static void add(struct dt_plot_cell *c, long double v)
{
	if (!isfinite(v))
		return;
	c->min = !c->n || v < c->min ? v : c->min;
	c->max = !c->n || v > c->max ? v : c->max;
	c->sum += v;
	c->n++;
}

/* Returns where the number is in the records of a function; NULL: out of memory. */
static const struct dt_call_operand_place *place_of(struct dt_plot *g, uint32_t function)
{
	const struct dt_call_operand o = {g->what == DT_PLOT_RESULT ? DT_OPERAND_RESULT
								    : DT_OPERAND_ARGUMENT,
					  g->index, NULL};
	const struct dt_function_info *info = dt_reader_function(g->reader, function);

	if (function >= g->places) {
		uint32_t n = dt_reader_functions(g->reader) + 1;
		struct dt_call_operand_place *more;

		n = n > function ? n : function + 1;
		more = realloc(g->place, n * sizeof(*more));
		if (!more) {
			g->no_memory = true;
			return NULL;
		}
		memset(more + g->places, 0, (n - g->places) * sizeof(*more));
		g->place = more;
		g->places = n;
	}
	if (!g->place[function].known)
		dt_operand_find(&g->place[function], info ? info->signature : "", &o);
	return &g->place[function];
}

static void add_record(struct dt_plot *g, struct dt_plot_cell *c, uint32_t function,
		       const uint64_t *value)
{
	const struct dt_call_operand_place *w = place_of(g, function);
	struct dt_call_number n;

	if (w && dt_operand_number(w, value, &n))
		add(c, n.real ? (long double)n.floating : (long double)n.number);
}

static void miss(struct dt_plot *g, const struct dt_call *c, struct dt_plot_cell *cell)
{
	if (g->n == g->room) {
		size_t room = g->room ? 2 * g->room : 64;
		struct missing *more = realloc(g->missing, room * sizeof(*more));

		if (!more) {
			g->no_memory = true;
			return;
		}
		g->missing = more;
		g->room = room;
	}
	g->missing[g->n++] = (struct missing){c->begin, c->tid, c->function, cell};
}

static void take(struct dt_plot *g, const struct dt_call *c, struct dt_plot_cell *cell)
{
	cell->calls++;
	if (g->what == DT_PLOT_DURATION) {
		if (!(c->flags & DT_CALL_UNTIMED))
			add(cell, (long double)dt_call_ticks(c));
	} else if (g->what == DT_PLOT_RESULT) {
		if (c->result)
			add_record(g, cell, c->function, c->result);
	} else if (c->argument) {
		add_record(g, cell, c->function, c->argument);
	} else {
		miss(g, c, cell);
	}
}

/* ---- where it goes ---- */

/* Returns the first tick of a column, as planned. */
static uint64_t planned(const struct dt_plot_asked *a, unsigned column)
{
	return a->from + (uint64_t)((double)(a->to - a->from + 1) * column / a->columns);
}

static unsigned column_of(const struct dt_plot_asked *a, uint64_t ticks)
{
	unsigned k =
		(unsigned)((double)(ticks - a->from) * a->columns / (double)(a->to - a->from + 1));

	k = k < a->columns ? k : a->columns - 1;
	while (k && ticks < planned(a, k))
		k--;
	while (k + 1 < a->columns && ticks >= planned(a, k + 1))
		k++;
	return k;
}

static uint64_t part_begin(const struct dt_region *r, unsigned part)
{
	return r->begin + (uint64_t)((double)(r->end - r->begin) * part / PARTS);
}

static unsigned part_of(const struct dt_region *r, uint64_t ticks)
{
	unsigned part = 0;

	while (part + 1 < PARTS && ticks >= part_begin(r, part + 1))
		part++;
	return part;
}

static void on_call(void *ctx, const struct dt_call *c)
{
	struct dt_plot *g = ctx;
	size_t i;

	if (!is_same(g, c->function) || c->flags & DT_CALL_NO_ENTRY)
		return;
	if (g->edge) {
		take(g, c, g->edge);
		return;
	}
	if (g->asked) {
		take(g, c, &g->asked->column[column_of(g->asked, c->end)]);
		return;
	}
	i = dt_pyramid_region(g->pyramid, c->end);
	i = i < g->first ? g->first : i > g->last ? g->last : i;
	if (g->kept[i].cell)
		take(g, c, &g->kept[i].cell[part_of(&g->pyramid->region[i], c->end)]);
}

static int by_begin(const void *a, const void *b)
{
	const struct missing *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool is_entry(const struct dt_site *site)
{
	return site->place == DT_SITE_ENTRY || site->place == DT_SITE_ENTRY_JUMPS ||
	       site->place == DT_SITE_ENTRY_ALONE;
}

/* Gives the records of a span to the calls that began with them. */
static void take_missing(struct dt_plot *g, const struct dt_span *s, struct missing *m, size_t n)
{
	for (uint32_t k = 0; k < s->n; k++) {
		const struct dt_site *site = dt_reader_site(g->reader, s->site[k]);

		if (s->ticks[k] != m->begin || !site || !is_entry(site))
			continue;
		for (size_t i = 0; i < n; i++)
			if (m[i].cell && m[i].thread == s->tid && m[i].function == site->function) {
				add_record(g, m[i].cell, m[i].function, s->value[k]);
				m[i].cell = NULL;
				break;
			}
	}
}

/* Reads the entries of the calls that had no argument. */
static int read_missing(struct dt_plot *g, struct dt_windows *w, struct dt_error *e)
{
	int rc = 0;

	if (g->n)
		qsort(g->missing, g->n, sizeof(*g->missing), by_begin);
	for (size_t i = 0, j; i < g->n && rc == 0; i = j) {
		struct dt_reader_range at = {.order = DT_BY_TIME,
					     .values = true,
					     .from = g->missing[i].begin,
					     .to = g->missing[i].begin};
		struct dt_span s;

		for (j = i + 1; j < g->n && g->missing[j].begin == g->missing[i].begin;)
			j++;
		if (dt_reader_start(w->reader, &at, e) < 0)
			return -1;
		while ((rc = dt_reader_next(w->reader, &s, e)) > 0)
			take_missing(g, &s, &g->missing[i], j - i);
	}
	g->n = 0;
	return g->no_memory ? dt_window_no_memory(e) : rc;
}

/* ---- regions ---- */

static bool is_whole(const struct dt_plot_asked *a, const struct dt_region *r)
{
	return r->begin >= a->from && r->end - 1 <= a->to && r->stats;
}

static int grow(struct dt_plot *g, size_t regions)
{
	struct kept *more;

	if (regions <= g->regions)
		return 0;
	more = realloc(g->kept, regions * sizeof(*more));
	if (!more)
		return -1;
	memset(more + g->regions, 0, (regions - g->regions) * sizeof(*more));
	g->kept = more;
	g->regions = regions;
	return 0;
}

/* Takes from the pyramid what it knows of a region: everything of durations; of others, whether
 * there is any call, and if so makes cells for them. */
static int know(struct dt_plot *g, struct dt_windows *w, size_t i, struct dt_stats *t,
		struct dt_error *e)
{
	const struct dt_region *r = &w->pyramid->region[i];
	struct dt_plot_cell all = {.begin = r->begin, .end = r->end - 1};
	struct kept *k = &g->kept[i];

	dt_stats_reset(t);
	w->scratch.n = 0;
	if (dt_bars_load(w->pyramid->bars, r->stats, &w->scratch, e) < 0)
		return -1;
	if (dt_stats_add(t, w->scratch.p, w->scratch.n, dt_reader_functions(w->reader)) < 0)
		return dt_fail(e, "the summaries for the time line are damaged");
	for (uint32_t f = 0; f < t->functions; f++) {
		const struct dt_function_stats *x = &t->function[f];

		if (!x->calls || !is_same(g, f))
			continue;
		all.calls += x->calls;
		if (!x->timed)
			continue;
		all.min = !all.n || x->min < all.min ? (long double)x->min : all.min;
		all.max = !all.n || x->max > all.max ? (long double)x->max : all.max;
		all.sum += (long double)x->sum;
		all.n += x->timed;
	}
	k->known = g->what == DT_PLOT_DURATION || !all.calls;
	if (!all.calls)
		return 0;
	k->n = g->what == DT_PLOT_DURATION ? 1 : PARTS;
	k->cell = calloc(k->n, sizeof(*k->cell));
	if (!k->cell)
		return dt_window_no_memory(e);
	if (k->known)
		k->cell[0] = all;
	for (unsigned part = 0; !k->known && part < PARTS; part++) {
		k->cell[part].begin = part_begin(r, part);
		k->cell[part].end = part_begin(r, part + 1) - 1;
	}
	return 0;
}

/* Reads the records of the regions from first to last into their cells. */
static int read_run(struct dt_plot *g, struct dt_windows *w, size_t first, size_t last,
		    struct dt_error *e)
{
	int rc;

	/* what an earlier attempt has left that failed */
	for (size_t i = first; i <= last; i++)
		for (unsigned k = 0; k < g->kept[i].n; k++) {
			struct dt_plot_cell *c = &g->kept[i].cell[k];

			*c = (struct dt_plot_cell){.begin = c->begin, .end = c->end};
		}
	g->asked = NULL;
	g->first = first;
	g->last = last;
	w->call = on_call;
	w->ctx = g;
	w->from = 0;
	w->to = UINT64_MAX;
	rc = dt_window_read_regions(w, first, last, UINT64_MAX, true, e);
	w->call = NULL;
	if (rc == 0)
		rc = read_missing(g, w, e);
	for (size_t i = first; rc == 0 && i <= last; i++)
		g->kept[i].known = true;
	return rc;
}

/* Gets to know the regions from first to before end, as many as there is time for. */
static int know_regions(struct dt_plot *g, struct dt_windows *w, size_t first, size_t end,
			double seconds, struct dt_error *e)
{
	struct dt_stats t = {0};
	double begun = dt_now_s();
	size_t i = first;
	int rc = 0;

	while (rc == 0 && i < end && dt_now_s() - begun < seconds) {
		size_t run = i; /* from i to before this one, the records have to be read */

		for (; run < end && run < i + RUN; run++) {
			if (!g->kept[run].known && !g->kept[run].cell)
				rc = know(g, w, run, &t, e);
			if (rc < 0 || g->kept[run].known)
				break;
		}
		if (rc == 0 && run > i)
			rc = read_run(g, w, i, run - 1, e);
		i = run > i ? run : i + 1;
	}
	dt_stats_free(&t);
	return rc;
}

/* ---- all ---- */

/* Returns the column in which a cell begins, and widens it to that. */
static struct dt_plot_cell *widened(struct dt_plot_asked *a, uint64_t begin, uint64_t end)
{
	struct dt_plot_cell *to = &a->column[column_of(a, begin)];

	if (!to->calls)
		*to = (struct dt_plot_cell){.begin = begin, .end = end};
	to->end = end > to->end ? end : to->end;
	return to;
}

static void join(struct dt_plot_asked *a, const struct dt_plot_cell *c)
{
	struct dt_plot_cell *to = widened(a, c->begin, c->end);

	if (c->n) {
		to->min = !to->n || c->min < to->min ? c->min : to->min;
		to->max = !to->n || c->max > to->max ? c->max : to->max;
		to->sum += c->sum;
		to->n += c->n;
	}
	to->calls += c->calls;
}

/* Adds calls that were open when the trace ended: no region has them. */
static void add_late(struct dt_plot *g, struct dt_plot_asked *a, const struct dt_pyramid *p)
{
	for (size_t i = 0; i < p->lates; i++) {
		const struct dt_call *c = &p->late[i];
		const struct dt_region *r = &p->region[dt_pyramid_region(p, c->end)];
		unsigned part;

		if (c->end < a->from || c->end > a->to || !is_same(g, c->function) ||
		    c->flags & DT_CALL_NO_ENTRY || !is_whole(a, r))
			continue;
		part = part_of(r, c->end);
		if (g->what == DT_PLOT_DURATION)
			take(g, c, widened(a, r->begin, r->end - 1));
		else
			take(g, c, widened(a, part_begin(r, part), part_begin(r, part + 1) - 1));
	}
}

/* Reads the part of a region that is in the range into one cell. */
static int read_edge(struct dt_plot *g, struct dt_windows *w, struct dt_plot_asked *a,
		     const struct dt_region *r, struct dt_plot_cell *to, struct dt_error *e)
{
	int rc;

	to->begin = r->begin > a->from ? r->begin : a->from;
	to->end = r->end - 1 < a->to ? r->end - 1 : a->to;
	g->edge = to;
	rc = dt_window_calls(w, to->begin, to->end, on_call, g, e);
	g->edge = NULL;
	return rc < 0 ? -1 : read_missing(g, w, e);
}

static int read_regions(struct dt_plot *g, struct dt_windows *w, struct dt_plot_asked *a,
			struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	size_t first = dt_pyramid_region(p, a->from), end = first + 1, known = 0;
	struct dt_plot_cell edge[2] = {{0}, {0}};

	if (grow(g, p->regions) < 0)
		return dt_window_no_memory(e);
	while (end < p->regions && p->region[end].begin <= a->to)
		end++;
	if (!is_whole(a, &p->region[first]) &&
	    read_edge(g, w, a, &p->region[first++], &edge[0], e) < 0)
		return -1;
	if (end > first && !is_whole(a, &p->region[end - 1]) &&
	    read_edge(g, w, a, &p->region[--end], &edge[1], e) < 0)
		return -1;
	if (know_regions(g, w, first, end, a->seconds, e) < 0)
		return -1;
	if (edge[0].calls)
		join(a, &edge[0]);
	for (size_t i = first; i < end; i++) {
		known += g->kept[i].known;
		for (unsigned k = 0; g->kept[i].known && k < g->kept[i].n; k++)
			if (g->kept[i].cell[k].calls)
				join(a, &g->kept[i].cell[k]);
	}
	if (edge[1].calls)
		join(a, &edge[1]);
	a->done = end > first ? (double)known / (double)(end - first) : 1;
	add_late(g, a, p);
	return read_missing(g, w, e);
}

int dt_plot_read(struct dt_plot *g, struct dt_windows *w, struct dt_plot_asked *a,
		 struct dt_error *e)
{
	const struct dt_pyramid *p = w->pyramid;
	uint64_t records = 0;
	int rc;

	a->done = 1;
	a->even = true;
	a->n = 0;
	a->to = a->to < p->end ? a->to : p->end;
	a->from = a->from > p->begin ? a->from : p->begin;
	if (!p->regions || a->to < a->from)
		return 0;
	g->reader = w->reader;
	g->pyramid = p;
	g->no_memory = false;
	g->n = 0;
	for (unsigned k = 0; k < a->columns; k++)
		a->column[k] =
			(struct dt_plot_cell){.begin = planned(a, k), .end = planned(a, k + 1) - 1};
	for (size_t i = dt_pyramid_region(p, a->from);
	     i < p->regions && p->region[i].begin <= a->to; i++)
		records += p->region[i].records;
	a->even = records <= READ_MOST;
	g->asked = a;
	if (a->even) {
		rc = dt_window_calls(w, a->from, a->to, on_call, g, e);
		if (rc == 0)
			rc = read_missing(g, w, e);
	} else {
		rc = read_regions(g, w, a, e);
	}
	for (unsigned k = 0; k < a->columns; k++)
		if (a->column[k].calls)
			a->column[a->n++] = a->column[k];
	return g->no_memory ? dt_window_no_memory(e) : rc;
}
