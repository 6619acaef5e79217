/* SPDX-License-Identifier: MIT */
/* devtrace path: the critical path of a call, of the slowest calls of a function, or of a range. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pair.h"
#include "cmd/choose.h"
#include "cmd/commands.h"
#include "cmd/one-trace.h"
#include "cmd/path-work.h"
#include "cmd/table.h"
#include "cmd/terminal.h"
#include "cmd/unmet.h"
#include "fleet/path-streams.h"

#define CALLS_MOST 10000000u /* that can be sorted */
#define ROWS	   40

static const char help[] =
	"usage: devtrace path [-F PAT]... [OPTION]... [FILE]\n"
	"Prints where the time of a call went, its critical path, backwards from its end: while its\n"
	"thread ran, the functions in which it did; while it waited for another thread, what that\n"
	"one did meanwhile. Needs context switches (record -S); record --wakers tells most.\n"
	"\n"
	"  -F, --function PAT     of the longest call of the functions that match\n"
	"  -N, --no-function PAT  not of those\n"
	"  -f, --filter WORDS     of the longest call that these words mean, as in devtrace calls\n"
	"      --slowest N        the sum over the slowest N calls, or N% of them\n"
	"      --from TIME        without -F and -f: of all that a thread did from there on; with\n"
	"                         them: of calls from there on. As with calls\n"
	"      --to TIME          up to there\n"
	"      --thread TID       of this thread; without -F and -f it is the one that ran last\n"
	"  -n, --rows N           so many rows, and pieces, the longest; 0: all (40)\n"
	"      --json             JSON lines, for programs: devtrace-json(5)\n" DT_TERMINAL_HELP
	"  -h, --help             show this\n"
	"\n"
	"The pieces are as long together as the call. FILE is devtrace.db when not given.\n";

struct path {
	struct dt_reader *reader;
	struct dt_selection select;
	struct dt_range_options when;
	struct dt_reader_range range;
	struct dt_terminal terminal;
	const char *words;  /* of -f; NULL: none */
	const char *thread; /* of --thread; NULL: any */
	double percent;	    /* of --slowest; 0: it is not given, or a number */
	uint64_t slowest;   /* 0: not given, or a percentage */
	uint64_t rows;
	bool json;
	/* choosing calls */
	bool *shown;
	struct dt_chosen_calls chosen;
	struct dt_table_threads threads;
	struct dt_path_call *call;
	size_t n, room;
	uint64_t all, untimed;
	bool no_memory, too_many;
};

/* ---- choosing calls ---- */

static bool is_several(const struct path *k)
{
	return k->percent > 0 || k->slowest;
}

static bool is_wanted(void *ctx, uint32_t tid)
{
	struct path *k = ctx;

	return !k->thread || dt_table_wanted(&k->threads, tid);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct path *k = ctx;
	struct dt_path_call call = {c->begin, c->end, c->tid, c->function};

	if (c->tid == DT_NO_TID || !k->shown[c->function] || !is_wanted(k, c->tid) ||
	    (k->words && !dt_chosen_has(&k->chosen, c->id)))
		return;
	if (c->flags & DT_CALL_UNTIMED) {
		k->untimed++;
		return;
	}
	k->all++;
	if (!is_several(k) && k->n) {
		if (call.end - call.begin > k->call->end - k->call->begin)
			*k->call = call;
		return;
	}
	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 64;
		struct dt_path_call *more = NULL;

		k->too_many |= k->n >= CALLS_MOST;
		more = k->too_many ? NULL : realloc(k->call, room * sizeof(*more));
		k->no_memory |= !more;
		if (!more)
			return;
		k->call = more;
		k->room = room;
	}
	k->call[k->n++] = call;
}

static int longest_first(const void *a, const void *b)
{
	const struct dt_path_call *x = a, *y = b;
	uint64_t p = x->end - x->begin, q = y->end - y->begin;

	if (p != q)
		return p < q ? 1 : -1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Finds the calls that are meant, the longest first. Returns the exit status. */
static int choose_calls(struct path *k)
{
	struct dt_pair_events events = {.end = on_end, .ctx = k};
	struct dt_error e;
	double n;

	k->shown = dt_cmd_shown(k->reader, &k->select);
	if (!k->shown)
		return dt_cmd_fail("out of memory");
	if (dt_cmd_unmet_patterns(k->reader, &k->select))
		return 1;
	if (k->words && dt_cmd_choose(k->reader, &k->range, k->words, NULL, NULL, &k->chosen))
		return 1;
	if (dt_pair_run(k->reader, &k->range, &events, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	if (k->too_many)
		return dt_cmd_fail("there are more than %u such calls: take a shorter time, with "
				   "--from and --to",
				   CALLS_MOST);
	if (k->no_memory)
		return dt_cmd_fail("out of memory");
	if (!k->n && k->words && !k->untimed)
		return dt_cmd_fail("%s", dt_cmd_none_meant);
	if (!k->n)
		return dt_cmd_fail("there is no such call whose beginning and end are known%s",
				   k->when.from || k->when.to ? ", in this part of the trace" : "");
	qsort(k->call, k->n, sizeof(*k->call), longest_first);
	if (is_several(k)) {
		n = k->percent > 0 ? (double)k->n * k->percent / 100 : (double)k->slowest;
		n = n < 1 ? 1 : n;
		k->n = n < (double)k->n ? (size_t)n : k->n;
	}
	return 0;
}

/* Takes the range itself. Returns the exit status. */
static int choose_range(struct path *k)
{
	struct dt_summary sum;
	struct dt_error e = {""};
	uint64_t to = k->range.to, last = 0;
	uint32_t tid = DT_NO_TID;

	if (dt_reader_summary(k->reader, &sum, &e))
		return dt_cmd_fail("%s", e.text);
	if (k->thread) {
		size_t n;
		const struct dt_thread_info *t = dt_reader_threads(k->reader, &n);

		for (size_t i = 0; i < n; i++)
			if (dt_table_wanted(&k->threads, t[i].tid))
				tid = t[i].tid;
		last = sum.max_ticks;
	} else {
		tid = dt_path_last_thread(k->reader, k->range.from, to, &last, &e);
		if (*e.text)
			return dt_cmd_fail("%s", e.text);
	}
	if (tid == DT_NO_TID)
		return dt_cmd_fail("there is no record of a thread%s",
				   k->when.from || to ? " in this part of the trace" : "");
	k->call = calloc(1, sizeof(*k->call));
	if (!k->call)
		return dt_cmd_fail("out of memory");
	*k->call = (struct dt_path_call){.begin = k->range.from > sum.min_ticks ? k->range.from
										: sum.min_ticks,
					 .end = to && to < sum.max_ticks ? to : last,
					 .tid = tid};
	k->n = k->all = 1;
	if (k->call->begin >= k->call->end)
		return dt_cmd_fail("there is nothing between these times");
	return 0;
}

/* ---- the paths ---- */

static int print(struct path *k, struct dt_paths *p)
{
	struct dt_path_shown s = {.reader = k->reader,
				  .paths = p,
				  .call = k->call,
				  .rows = k->rows,
				  .of = k->all,
				  .slowest = is_several(k)};
	struct dt_summary sum;
	struct dt_error e;
	int status;

	if (dt_reader_summary(k->reader, &sum, &e))
		return dt_cmd_fail("%s", e.text);
	s.first = sum.min_ticks;
	s.said.paths = p;
	if (dt_hosts_load(&s.said.hosts, k->reader))
		return dt_cmd_fail("out of memory");
	status = k->json ? dt_path_print_json(&s) : dt_path_print_text(&s);
	dt_hosts_free(&s.said.hosts);
	return status;
}

static int find(struct path *k)
{
	struct dt_paths p = {.reader = k->reader, .n = k->n};
	struct dt_path_edge *edge = NULL;
	struct dt_error e;
	int status = 0;

	p.path = calloc(k->n, sizeof(*p.path));
	if (!p.path)
		return dt_cmd_fail("out of memory");
	for (size_t i = 0; i < k->n; i++) {
		p.path[i].tid = k->call[i].tid;
		p.path[i].from = k->call[i].begin;
		p.path[i].to = k->call[i].end;
	}
	/* within a machine, wake-ups tell the same, and are in the range alone */
	if ((!dt_wakers_any(k->reader) || dt_reader_meta(k->reader, "hosts")) &&
	    dt_path_streams(k->reader, &edge, &p.edges, &e) < 0)
		status = dt_cmd_fail("%s", e.text);
	p.edge = edge;
	if (!status && dt_paths_find(&p, &e) < 0)
		status = dt_cmd_fail("%s", e.text);
	if (!status)
		status = print(k, &p);
	dt_paths_free(&p);
	free(p.path);
	free(edge);
	return status;
}

static int run(struct path *k)
{
	int status;

	k->range.order = DT_BY_THREAD;
	k->threads.reader = k->reader;
	if (!dt_cmd_switches(k->reader) || !dt_cmd_range(k->reader, &k->when, &k->range))
		return 1;
	if (k->threads.tids && dt_cmd_unmet_threads(k->reader, k->threads.tid, k->threads.tids))
		return 1;
	status = k->select.n || k->words ? choose_calls(k) : choose_range(k);
	if (!status)
		status = find(k);
	dt_cmd_say_lost(k->reader, status);
	if (status != 2)
		dt_cmd_say_waits(k->reader);
	return status;
}

/* ---- options ---- */

static bool parse_slowest(struct path *k, const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (*text >= '0' && *text <= '9' && !strcmp(end, "%") && v > 0 && v <= 100) {
		k->percent = v;
		return true;
	}
	if (*text >= '1' && *text <= '9' && !*end && v < 1e9 && v == (double)(uint64_t)v) {
		k->slowest = (uint64_t)v;
		return true;
	}
	dt_cmd_fail("--slowest %s: it is a number of calls, as 10, or a part of them, as 1%%",
		    text);
	return false;
}

/* Says which options do not go together. Returns -1: go on; otherwise the exit status. */
static int settle(struct path *k)
{
	if (!is_several(k) || k->select.n || k->words)
		return -1;
	dt_cmd_fail("--slowest is of calls: say of which, by -F or -f");
	return dt_cmd_usage("path");
}

/* Takes an option with a value. Returns -1: go on; otherwise the exit status. */
static int take(struct path *k, int c)
{
	struct dt_error e;
	int status = -1;

	switch (c) {
	case 'F':
	case 'N':
		if (!dt_selection_add(&k->select, optarg, c == 'N', &e))
			return -1;
		return dt_cmd_fail("%s", e.text), 2;
	case 'f':
		k->words = optarg;
		return -1;
	case 'n':
		if (!strcmp(optarg, "0"))
			k->rows = 0;
		else if (!dt_table_number(optarg, "rows", &k->rows))
			return 2;
		return -1;
	case 1:
		k->when.from = optarg;
		return -1;
	case 2:
		k->when.to = optarg;
		return -1;
	case 3:
		return parse_slowest(k, optarg) ? -1 : dt_cmd_usage("path");
	case 4:
		k->thread = optarg;
		return dt_table_add_thread(&k->threads, optarg) ? -1 : 2;
	default:
		return dt_terminal_option(&k->terminal, c, &status) ? status : dt_cmd_usage("path");
	}
}

static int parse(struct path *k, int argc, char **argv)
{
	static const struct option options[] = {{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"filter", required_argument, NULL, 'f'},
						{"rows", required_argument, NULL, 'n'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"slowest", required_argument, NULL, 3},
						{"thread", required_argument, NULL, 4},
						{"json", no_argument, NULL, 5},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	int c, status = -1;

	while ((c = getopt_long(argc, argv, "F:N:f:n:h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c == 5)
			k->json = true;
		else if ((status = take(k, c)) >= 0)
			return status;
	}
	return settle(k);
}

int dt_cmd_path(int argc, char **argv)
{
	struct path k = {.rows = ROWS};
	int status = parse(&k, argc, argv);

	if (status < 0) {
		dt_terminal_listing(&k.terminal, !k.json);
		k.reader = dt_cmd_open_one(argc, argv, "path", NULL, &status);
		if (k.reader) {
			status = run(&k);
			dt_reader_close(k.reader);
		}
	}
	free(k.call);
	free(k.shown);
	dt_chosen_free(&k.chosen);
	dt_table_threads_free(&k.threads);
	dt_selection_clear(&k.select);
	return status;
}
