/* SPDX-License-Identifier: MIT */
/*
 * Reads all that there is in trace files, whatever they hold, as the commands do: pairs their calls in
 * both orders, sums them up, makes their graph, checks them, reads what view has kept in them or makes it
 * anew, looks at windows of it and at what was called in them. What it finds does not matter: the tests
 * run it over damaged and hostile files, with sanitizers. More than SECONDS (10) for one is a failure.
 *
 * usage: walk-trace [-t SECONDS] FILE...      prints a line for each file that it cannot open
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/check.h"
#include "analyse/graph.h"
#include "analyse/window.h"

#define WINDOWS 6

static struct dt_error error;

static void pair(struct dt_reader *r, enum dt_order order)
{
	struct dt_stats stats = {0};
	struct dt_pair_events events = {.end = dt_stats_call, .ctx = &stats};
	struct dt_range range = {.order = order, .values = order == DT_BY_TIME};

	dt_pair_run(r, &range, &events, &error);
	dt_stats_free(&stats);
}

static void graph(struct dt_reader *r)
{
	uint32_t focus = 1;
	struct dt_graph g = {.focus = &focus, .focuses = 1};
	struct dt_range range = {0};

	dt_graph_read(&g, r, &range, &error);
	dt_graph_free(&g);
}

static void check(struct dt_reader *r, const char *path)
{
	struct dt_check c = {0};

	dt_check_trace(r, path, true, &c, NULL, NULL, &error);
	dt_check_free(&c);
}

static bool on_bar(void *ctx, uint32_t track, const struct dt_bar *x)
{
	*(uint64_t *)ctx += x->count + track;
	return true;
}

static void on_call(void *ctx, const struct dt_call *c)
{
	*(uint64_t *)ctx += c->id;
}

static void look(struct dt_windows *w, const struct dt_pyramid *p, uint64_t from, uint64_t to)
{
	struct dt_window x = {.from = from, .to = to, .shift = dt_window_shift(from, to, 500)};
	struct dt_track_sum *sums = calloc(p->tracks + 1, sizeof(*sums));
	struct dt_bar_list list = {0};
	struct dt_stats stats = {0};
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->tracks && i < 1000; i++)
		dt_window_bars(w, i, &x, &list, &error);
	if (sums)
		dt_window_sums(w, from, to, sums, &error);
	dt_window_each(w, from, to, true, on_bar, &n, &error);
	dt_window_stats(w, from, to, &stats, &error);
	dt_window_calls(w, from, to, on_call, &n, &error);
	free(sums);
	free(list.bar);
	dt_stats_free(&stats);
}

static void view(struct dt_reader *r, const char *path)
{
	struct dt_pyramid *p = dt_pyramid_open(r, path, &error);
	struct dt_windows *w = NULL;
	uint64_t length;

	if (!p)
		return;
	p->anyway = true;
	if (dt_pyramid_build(p, UINT64_MAX / 2, &error) == 0)
		w = dt_windows_new(p, path, &error);
	length = p->end - p->begin;
	for (unsigned i = 0; w && i < WINDOWS; i++)
		look(w, p, p->begin + (length >> (i + 1)), i & 1 ? p->end : p->end - (length >> (i + 2)));
	dt_windows_free(w);
	dt_pyramid_close(p);
}

static void walk(const char *path)
{
	struct dt_reader *r = dt_reader_open(path, &error);

	if (!r) {
		printf("%s\n", error.text);
		return;
	}
	pair(r, DT_BY_THREAD);
	pair(r, DT_BY_TIME);
	graph(r);
	check(r, path);
	view(r, path);
	dt_reader_close(r);
}

int main(int argc, char **argv)
{
	unsigned seconds = 10;
	int o;

	while ((o = getopt(argc, argv, "t:")) != -1) {
		if (o != 't')
			return 2;
		seconds = (unsigned)atoi(optarg);
	}
	for (; optind < argc; optind++) {
		fprintf(stderr, "%s\n", argv[optind]); /* the last one is the one that it did not survive */
		alarm(seconds);
		walk(argv[optind]);
	}
	return 0;
}
