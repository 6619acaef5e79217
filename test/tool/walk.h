/* SPDX-License-Identifier: MIT */
/*
 * Reads all that there is in a trace file, whatever it holds, as the commands do: pairs its calls
 * in both orders, sums them up, makes their graph, checks them, reads what view has kept in it or
 * makes it anew, looks at windows of it and at what was called in them. What it finds does not
 * matter. For test/tool/walk-trace.c, and the fuzzer of files.
 */
#ifndef DT_TEST_WALK_H
#define DT_TEST_WALK_H

#include <stdlib.h>

#include "analyse/check.h"
#include "analyse/graph.h"
#include "analyse/window.h"

#define WALK_WINDOWS 6

static struct dt_error walk_error;

static void walk_pair(struct dt_reader *r, enum dt_order order)
{
	struct dt_stats stats = {0};
	struct dt_pair_events events = {.end = dt_stats_call, .ctx = &stats};
	struct dt_reader_range range = {.order = order, .values = order == DT_BY_TIME};

	dt_pair_run(r, &range, &events, &walk_error);
	dt_stats_free(&stats);
}

static void walk_graph(struct dt_reader *r)
{
	uint32_t focus = 1;
	struct dt_graph g = {.focus = &focus, .focuses = 1};
	struct dt_reader_range range = {0};

	dt_graph_read(&g, r, &range, &walk_error);
	dt_graph_free(&g);
}

static void walk_check(struct dt_reader *r, const char *path)
{
	struct dt_check c = {0};

	dt_check_trace(r, path, &(struct dt_check_how){.again = true}, &c, &walk_error);
	dt_check_free(&c);
}

static bool walk_on_bar(void *ctx, uint32_t track, const struct dt_bar *x)
{
	*(uint64_t *)ctx += x->count + track;
	return true;
}

static void walk_on_call(void *ctx, const struct dt_call *c)
{
	*(uint64_t *)ctx += c->id;
}

static void walk_look(struct dt_windows *w, const struct dt_pyramid *p, uint64_t from, uint64_t to)
{
	struct dt_window x = {.from = from, .to = to, .shift = dt_window_shift(from, to, 500)};
	struct dt_track_sum *sums = calloc(p->tracks + 1, sizeof(*sums));
	struct dt_bar_list list = {0};
	struct dt_stats stats = {0};
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->tracks && i < 1000; i++)
		dt_window_bars(w, i, &x, &list, &walk_error);
	if (sums)
		dt_window_sums(w, from, to, sums, &walk_error);
	dt_window_each(w, from, to, true, walk_on_bar, &n, &walk_error);
	dt_window_stats(w, from, to, &stats, &walk_error);
	dt_window_calls(w, from, to, walk_on_call, &n, &walk_error);
	free(sums);
	free(list.bar);
	dt_stats_free(&stats);
}

static void walk_view(struct dt_reader *r, const char *path)
{
	struct dt_pyramid *p = dt_pyramid_open(r, path, &walk_error);
	struct dt_windows *w = NULL;
	uint64_t length;

	if (!p)
		return;
	p->anyway = true;
	if (dt_pyramid_build(p, UINT64_MAX / 2, &walk_error) == 0)
		w = dt_windows_new(p, path, &walk_error);
	length = p->end - p->begin;
	for (unsigned i = 0; w && i < WALK_WINDOWS; i++)
		walk_look(w, p, p->begin + (length >> (i + 1)),
			  i & 1 ? p->end : p->end - (length >> (i + 2)));
	dt_windows_free(w);
	dt_pyramid_close(p);
}

/* False: it can not be opened; walk_error says why. */
static bool walk(const char *path)
{
	struct dt_reader *r = dt_reader_open(path, &walk_error);

	if (!r)
		return false;
	walk_pair(r, DT_BY_THREAD);
	walk_pair(r, DT_BY_TIME);
	walk_graph(r);
	walk_check(r, path);
	walk_view(r, path);
	dt_reader_close(r);
	return true;
}

#endif
