/* SPDX-License-Identifier: MIT */
/* devtrace graph: callers and callees. */
#include "analyse/feed.h"
#include "cmd/graph-work.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "analyse/graph.h"
#include "analyse/same.h"
#include "cmd/choose.h"
#include "cmd/commands.h"
#include "cmd/one-trace.h"
#include "cmd/unmet.h"

static const char help[] =
	"usage: devtrace graph [OPTION]... [FILE] [FUNCTION]...\n"
	"Prints who calls whom: the tree of all calls by the time in them. With functions (shell\n"
	"patterns, as for -F): for each, the ways that lead to it, and the tree of what it calls.\n"
	"\n"
	"  -D, --depth N          at most N levels; 1: only callers and callees themselves\n"
	"  -m, --min PERCENT      what has less of the time is summed up in a line (0.5; --json: "
	"0)\n"
	"  -F, --function PAT     only functions that match the shell pattern; the time of others\n"
	"  -N, --no-function PAT  is that of the functions that called them\n"
	"  -f, --filter WORDS     only calls that these words mean, as in devtrace calls; likewise\n"
	"      --thread TID       only this thread, this process; may be given several times\n"
	"      --process PID\n"
	"      --from TIME        begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME          end there\n"
	"      --subtract         times without what recording cost\n"
	"      --by host          of a fleet: a graph for each machine, with its own times\n"
	"      --dot              for Graphviz: functions as boxes, arrows from callers to "
	"callees\n"
	"      --json             as JSON, an object a line: doc/json.md\n" DT_TERMINAL_HELP
	"  -h, --help             show this\n"
	"\n"
	"Total: while a call was open; calls within each other count once. Self: without callees.\n"
	"A function that is called again further down is marked (again): those calls, and what\n"
	"they call, are in the line where it stood first. Unfinished calls count up to the end.\n"
	"FILE is devtrace.db when not given; the first word is a FILE when there is such a "
	"trace.\n";

double dt_graph_ns_of(const struct graph *k, uint64_t ticks)
{
	return (double)ticks * dt_reader_ns_per_tick(k->reader);
}

double dt_graph_share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

const char *dt_graph_name_of(const struct graph *k, uint32_t function)
{
	return function == DT_GRAPH_NO_CALLER ? "(no caller in the trace)"
					      : dt_reader_function_name(k->reader, function);
}

struct ordering {
	const struct graph *k;
	const struct dt_graph_tree *t;
};

static int by_total(const void *a, const void *b, void *ctx)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct ordering *o = ctx;
	const struct dt_graph_sum *x = &o->t->sum[i], *y = &o->t->sum[j];
	int names;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	names = strcmp(dt_graph_name_of(o->k, o->t->way.node[i].function),
		       dt_graph_name_of(o->k, o->t->way.node[j].function));
	return names ? names : i < j ? -1 : 1;
}

/* Sorts the children of each node by their time, the greatest first. False: out of memory. */
static bool sort_tree(const struct graph *k, struct dt_graph_tree *t)
{
	struct ordering o = {k, t};
	uint32_t *child = calloc(t->way.n + 1, sizeof(*child));

	for (uint32_t i = 0; child && i < t->way.n; i++) {
		uint32_t n = 0;

		for (uint32_t c = t->way.node[i].child; c; c = t->way.node[c].next)
			child[n++] = c;
		qsort_r(child, n, sizeof(*child), by_total, &o);
		for (uint32_t c = 0; c < n; c++)
			t->way.node[child[c]].next = c + 1 < n ? child[c + 1] : 0;
		t->way.node[i].child = n ? child[0] : 0;
	}
	free(child);
	return child != NULL;
}

/* Returns for each function row 0, or, if the function was called, the first row of the same
 * function. The caller frees it; NULL: out of memory. */
static uint32_t *called_rows(const struct dt_reader *r)
{
	uint32_t n = dt_reader_functions(r) + 1;
	uint32_t *row = calloc(n, sizeof(*row));
	struct dt_same same = {0};

	if (row && dt_same_update(&same, r)) {
		free(row);
		row = NULL;
	}
	for (uint32_t i = 1; row && i <= dt_reader_sites(r); i++) {
		const struct dt_site *s = dt_reader_site(r, i);

		if (s && (s->kind == DT_ENTRY || s->kind == DT_EXIT) && s->function < n)
			row[s->function] = same.first[s->function];
	}
	dt_same_free(&same);
	return row;
}

/* Adds the called functions that match a word to `focus'. Returns 0, or an exit status after
 * reporting an error. */
static int take_word(struct graph *k, struct dt_selection *of, const char *word,
		     const uint32_t *row, uint32_t *focus)
{
	struct dt_graph *g = &k->graph;
	struct dt_near near;
	struct dt_error e;
	bool *meant, any = false;

	if (dt_selection_add(of, word, false, &e)) {
		dt_cmd_fail("%s", e.text);
		return 2;
	}
	meant = dt_cmd_shown(k->reader, of);
	if (!meant)
		return dt_cmd_fail("out of memory");
	dt_near_start(&near, word);
	for (uint32_t i = 1; i <= dt_reader_functions(k->reader) && g->focuses < FOCUSES + 1; i++) {
		size_t at = 0;

		if (!row[i] || !k->graph.shown[i])
			continue;
		dt_near_offer(&near, dt_reader_function(k->reader, i)->name);
		dt_near_offer_others(&near, dt_reader_function(k->reader, i)->others);
		if (!meant[i])
			continue;
		any = true;
		while (at < g->focuses && focus[at] != row[i])
			at++;
		focus[at] = row[i];
		g->focuses += at == g->focuses;
	}
	free(meant);
	if (g->focuses > FOCUSES)
		return dt_cmd_fail("'%s': more than %u functions match; say more exactly which",
				   word, FOCUSES);
	if (any || k->host)
		return 0;
	return near.n ? dt_cmd_fail("no function that was called is '%s'; one is %s", word,
				    near.name[0])
		      : dt_cmd_fail("no function that was called is '%s'", word);
}

static int take_words(struct graph *k, char **word, int n, uint32_t *focus)
{
	uint32_t *row = called_rows(k->reader);
	int status = row ? 0 : dt_cmd_fail("out of memory");

	for (int i = 0; i < n && !status; i++) {
		struct dt_selection of = {0};

		status = take_word(k, &of, word[i], row, focus);
		dt_selection_clear(&of);
	}
	free(row);
	k->graph.focus = focus;
	if (!status && k->form == DOT && k->graph.focuses > 1)
		return dt_cmd_fail(
			"--dot draws one function's callers and callees, or all; here %zu "
			"functions match",
			k->graph.focuses);
	return status;
}

static bool sort_all(struct graph *k)
{
	bool ok = sort_tree(k, &k->graph.whole);

	for (size_t i = 0; i < k->graph.focuses; i++)
		ok = ok && sort_tree(k, &k->graph.below[i]) && sort_tree(k, &k->graph.above[i]);
	return ok;
}

static int print(struct graph *k)
{
	int status = 0;

	if (k->min < 0)
		k->min = k->form == JSON ? 0 : 0.5;
	if (k->form == TEXT)
		dt_graph_print_text(k);
	else if (k->form == JSON)
		dt_graph_print_json(k);
	else
		status = dt_graph_draw(k);
	if (fflush(stdout) || ferror(stdout))
		status = dt_cmd_fail("cannot write the graph");
	if (k->cut)
		dt_cmd_fail("note: what is called deeper than %u levels is not printed",
			    DEEPEST - 1);
	return status;
}

static void mark(const struct dt_graph_tree *t, bool *used)
{
	for (uint32_t i = 1; i < t->way.n; i++)
		if (t->way.node[i].function != DT_GRAPH_NO_CALLER)
			used[t->way.node[i].function] = true;
}

/* Says which of the printed functions have in their self times functions that were not hooked. */
static void say_left_out(struct graph *k)
{
	const struct dt_graph *g = &k->graph;
	bool *used = calloc(dt_reader_functions(k->reader) + 1, sizeof(*used));

	if (!used)
		return;
	if (!g->focuses)
		mark(&g->whole, used);
	for (size_t i = 0; i < g->focuses; i++) {
		used[g->focus[i]] = true;
		mark(&g->below[i], used);
		mark(&g->above[i], used);
	}
	dt_cmd_unhooked(k->reader, used, NULL);
	free(used);
}

/* Finds the calls that the filter wants. Returns 0, or the exit status. */
static int choose(struct graph *k, const struct dt_reader_range *range,
		  struct dt_chosen_calls *chosen)
{
	if (!k->filter)
		return 0;
	k->graph.chosen = chosen;
	return dt_cmd_choose(k->reader, range, k->filter, dt_table_wanted, &k->threads, chosen);
}

int dt_graph_run(struct graph *k, char **word, int words)
{
	struct dt_reader_range range = {.order = DT_BY_THREAD};
	uint32_t focus[FOCUSES + 1];
	bool *shown = dt_cmd_shown(k->reader, &k->select);
	struct dt_chosen_calls chosen = {0};
	struct dt_error e;
	double cost[256];
	int status;

	k->threads.reader = k->reader;
	k->graph.shown = shown;
	k->graph.functions = shown ? dt_reader_functions(k->reader) + 1 : 0;
	k->graph.wanted = dt_table_wanted;
	k->graph.ctx = &k->threads;
	k->graph.cost = k->subtract ? cost : NULL;
	if (!dt_cmd_range(k->reader, &k->when, &range) ||
	    (k->subtract && !dt_cmd_costs(k->reader, cost)))
		status = 2;
	else if (!shown)
		status = dt_cmd_fail("out of memory");
	else if (!k->host && (dt_cmd_unmet_patterns(k->reader, &k->select) ||
			      dt_cmd_unmet_threads(k->reader, k->threads.tid, k->threads.tids) ||
			      dt_cmd_unmet_processes(k->reader, k->threads.pid, k->threads.pids)))
		status = 1;
	else
		status = take_words(k, word, words, focus);
	if (!status)
		status = choose(k, &range, &chosen);
	k->has_focus = k->graph.focuses != 0;
	if (!status && words && !k->has_focus)
		goto out;
	if (!status && dt_graph_read(&k->graph, k->reader, &range, &e))
		status = dt_cmd_fail("%s", e.text);
	k->waits = dt_feed_has_switches(k->reader);
	if (!status && !sort_all(k))
		status = dt_cmd_fail("out of memory");
	if (!status)
		status = print(k);
	if (!status)
		say_left_out(k);
out:
	dt_graph_free(&k->graph);
	dt_chosen_free(&chosen);
	free(shown);
	return status;
}

/* Says whether the first word is a trace rather than a function. That such a file exists is not
 * enough: a program may have the function's name. */
static bool is_file(const char *word)
{
	static const char head[] = "SQLite format 3";
	char begin[sizeof(head)] = "";
	size_t n = strlen(word);
	int fd = open(word, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* it may be a FIFO */

	if (fd >= 0) {
		if (read(fd, begin, sizeof(begin)) < (ssize_t)sizeof(begin))
			begin[0] = '\0';
		close(fd);
	}
	return !memcmp(begin, head, sizeof(head)) || strchr(word, '/') ||
	       (n > 3 && !strcmp(word + n - 3, ".db")) || strstr(word, ".db@");
}

static bool parse_min(struct graph *k, const char *text)
{
	char *end;

	k->min = strtod(text, &end);
	if (text[0] >= '0' && text[0] <= '9' && (!*end || !strcmp(end, "%")) && k->min <= 100)
		return true;
	dt_cmd_fail("--min %s: say per cent of the time, 0 to 100", text);
	return false;
}

/* Takes one of most options; false: it is none of these. *status >= 0: exit with that. */
static bool parse_option(struct graph *k, int c, int *status)
{
	struct dt_error e;

	switch (c) {
	case 'D':
		*status = dt_table_number(optarg, "levels", &k->depth) ? -1 : 2;
		return true;
	case 'm':
		*status = parse_min(k, optarg) ? -1 : 2;
		return true;
	case 'F':
	case 'N':
		if (!dt_selection_add(&k->select, optarg, c == 'N', &e))
			return true;
		dt_cmd_fail("%s", e.text);
		*status = 2;
		return true;
	case 'f':
		k->filter = optarg;
		return true;
	case 1:
		*status = dt_table_add_thread(&k->threads, optarg) ? -1 : 2;
		return true;
	case 2:
		*status = dt_table_add_process(&k->threads, optarg) ? -1 : 2;
		return true;
	case 3:
		k->when.from = optarg;
		return true;
	case 4:
		k->when.to = optarg;
		return true;
	case 5:
		k->subtract = true;
		return true;
	case 8:
		k->by_host = !strcmp(optarg, "host");
		if (!k->by_host)
			*status = dt_cmd_fail("--by %s: graph has --by host", optarg) + 1;
		return true;
	default:
		return false;
	}
}

/* -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct graph *k)
{
	static const struct option options[] = {{"depth", required_argument, NULL, 'D'},
						{"min", required_argument, NULL, 'm'},
						{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"filter", required_argument, NULL, 'f'},
						{"thread", required_argument, NULL, 1},
						{"process", required_argument, NULL, 2},
						{"from", required_argument, NULL, 3},
						{"to", required_argument, NULL, 4},
						{"subtract", no_argument, NULL, 5},
						{"by", required_argument, NULL, 8},
						{"dot", no_argument, NULL, 6},
						{"json", no_argument, NULL, 7},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	int c, status = -1;

	while (status < 0 && (c = getopt_long(argc, argv, "D:m:F:N:f:h", options, NULL)) != -1) {
		if (parse_option(k, c, &status) || dt_terminal_option(&k->terminal, c, &status))
			continue;
		if (c == 6 || c == 7) {
			enum form form = c == 6 ? DOT : JSON;

			if (k->form != TEXT && k->form != form) {
				dt_cmd_fail("--dot or --json, not both");
				status = dt_cmd_usage("graph");
			}
			k->form = form;
		} else if (c == 'h') {
			status = fputs(help, stdout) == EOF;
		} else {
			status = dt_cmd_usage("graph");
		}
	}
	return status;
}

int dt_cmd_graph(int argc, char **argv)
{
	struct graph k = {.depth = UINT64_MAX, .min = -1};
	struct dt_needs needs = {.n = 0};
	int status = parse(argc, argv, &k);

	if (status < 0) {
		bool file = optind < argc && is_file(argv[optind]);
		const char *path = file ? argv[optind++] : DT_DEFAULT_FILE;
		struct dt_error e;

		dt_terminal_listing(&k.terminal, k.form == TEXT);
		if (k.by_host) {
			status = dt_graph_fleet(&k, path, argv + optind, argc - optind);
			goto out;
		}
		path = dt_cmd_one_trace(path, &status);
		if (path)
			dt_needs_add(&needs, DT_NEED_TRACE, path);
		status = path ? dt_cmd_confine(&needs) : status;
		k.reader = status ? NULL : dt_reader_open(path, &e);
		status = status	    ? status
			 : k.reader ? dt_graph_run(&k, argv + optind, argc - optind)
				    : dt_cmd_fail("%s", e.text);
		if (k.reader)
			dt_cmd_say_lost(k.reader, status);
		dt_reader_close(k.reader);
	}
out:
	dt_selection_clear(&k.select);
	dt_table_threads_free(&k.threads);
	return status;
}
