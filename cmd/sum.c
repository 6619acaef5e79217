/* SPDX-License-Identifier: MIT */
/* devtrace sum: sums over calls, those that were made while recording, or of a trace's calls. */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/meanings.h"
#include "analyse/text-matches.h"
#include "cmd/commands.h"
#include "cmd/live.h"
#include "cmd/open.h"
#include "cmd/sum-calls.h"
#include "cmd/sum-table.h"
#include "cmd/table.h"

static const char help[] =
	"usage: devtrace sum [OPTION]... [FILE]\n"
	"Prints the sums that --sum of record, attach or devtrace PROG has made while recording; or,\n"
	"with -e, sums over the calls of the trace.\n"
	"\n"
	"  -e, --sum WORDS        WHAT [by KEY, ...] [if WORDS]. WHAT: count, time, self, result,\n"
	"                         arg1 or the name of an argument, hist(VALUE). KEY: function,\n"
	"                         caller, callers, thread, process, core, depth, result, error,\n"
	"                         arg1 or a name. WORDS: a filter, as -f of calls. Up to eight times\n"
	"  -s, --sort COLUMN      by calls, sum, avg, min, max or key; by sum, or calls, without it\n"
	"  -n, --rows N           the first N rows of each\n"
	"      --from TIME, --to TIME   with -e: begin, end there, as with cat\n"
	"      --live             again each second, as long as the file is being recorded\n"
	"      --json             as JSON, times in ns\n"
	"  -h, --help             show this\n"
	"\n"
	"  devtrace record --sum 'hist(size) by caller if malloc' PROG; devtrace sum\n"
	"  devtrace sum -e 'count by path, error if open*' FILE\n";

struct sum {
	const char *text[DT_SUMS_MOST];
	size_t n;
	struct dt_sum_shown how;
	struct dt_range_options when;
	bool json, live;
};

/* ---- of the calls of a trace ---- */

static int append_row(void *ctx, const struct dt_sums_row *row)
{
	struct dt_sum_table *t = ctx;
	struct dt_sums_row **more;

	if (t->rows % 64 == 0) {
		more = realloc(t->row, (t->rows + 64) * sizeof(*more));
		if (!more)
			return -1;
		t->row = more;
	}
	t->row[t->rows++] = (struct dt_sums_row *)(uintptr_t)row;
	return 0;
}

/* Makes the tables of sums; the rows stay theirs. NULL: out of memory. */
static struct dt_sum_table *tables_of(const struct sum *o, struct dt_sums *s)
{
	struct dt_sum_table *t = calloc(o->n + 1, sizeof(*t));

	for (size_t i = 0; t && i < o->n; i++) {
		struct dt_sums_totals totals = dt_sums_totals(s, i);

		t[i] = (struct dt_sum_table){.text = o->text[i],
					     .words = *dt_sums_words(s, i),
					     .calls = totals.calls,
					     .others = totals.others};
		if (dt_sums_each(s, i, false, append_row, &t[i])) {
			dt_sum_tables_free(t, i + 1);
			return NULL;
		}
	}
	return t;
}

/* ---- printing ---- */

static void print(const struct sum *o, struct dt_sum_table *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (o->json)
			fputs(i ? ",\n" : "[\n", stdout);
		else if (i)
			putchar('\n');
		if (o->json)
			dt_sum_table_json(&t[i], &o->how);
		else
			dt_sum_table_print(&t[i], &o->how);
	}
	if (o->json)
		puts(n ? "\n]" : "[]");
}

static int end_output(void)
{
	return fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table") : 0;
}

static int sum_calls(struct dt_reader *r, struct sum *o)
{
	struct dt_meanings m = dt_meanings_of(r);
	struct dt_reader_range range = {.order = DT_BY_THREAD};
	struct dt_error e;
	struct dt_sums *s = dt_sums_new(o->text, o->n, &m, &e);
	struct dt_sum_table *t = NULL;
	int status = 2;

	if (!s) {
		dt_cmd_fail("sum: %s", e.text);
		return 2;
	}
	if (!dt_cmd_range(r, &o->when, &range))
		goto out;
	status = 1;
	for (size_t i = 0; i < o->n; i++)
		if (dt_sums_filter(s, i) && dt_text_matches_look(dt_sums_filter(s, i), r, &e)) {
			dt_cmd_fail("%s", e.text);
			goto out;
		}
	if (dt_sum_calls(r, s, &range, &e)) {
		dt_cmd_fail("%s", e.text);
		goto out;
	}
	t = tables_of(o, s);
	if (!t) {
		dt_cmd_fail("out of memory");
		goto out;
	}
	print(o, t, o->n);
	dt_cmd_say_left_out(r);
	status = end_output();
out:
	dt_sum_tables_free(t, t ? o->n : 0);
	dt_sums_free(s);
	return status;
}

/* ---- those of a session ---- */

static int print_made(struct dt_reader *r, const struct sum *o, bool more)
{
	struct dt_sum_table *t;
	struct dt_error e;
	long n = dt_sum_tables_read(r, &t, &e);

	if (n < 0)
		return dt_cmd_fail("%s", e.text);
	if (!n && !more) {
		dt_cmd_fail("no sums were made while this was recorded (record --sum WORDS does); "
			    "-e WORDS sums up the calls that are in it");
		dt_sum_tables_free(t, 0);
		return 1;
	}
	print(o, t, (size_t)n);
	dt_sum_tables_free(t, (size_t)n);
	return end_output();
}

/* Prints the sums each second until the session has ended, and then once more. */
static int print_live(struct dt_reader *r, const struct sum *o, int session)
{
	bool screen =
		isatty(STDOUT_FILENO) && getenv("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
	struct dt_error e;
	bool alive = session >= 0;
	int status;

	for (;;) {
		struct pollfd p = {session, POLLIN, 0};

		if (dt_reader_refresh(r, &e))
			return dt_cmd_fail("%s", e.text);
		if (screen)
			fputs("\033[H\033[J", stdout);
		status = print_made(r, o, alive);
		if (status || !alive)
			return status;
		if (!screen) {
			putchar('\n');
			fflush(stdout);
		}
		alive = poll(&p, 1, 1000) == 0;
	}
}

/* ---- the command ---- */

static bool parse_sort(struct dt_sum_shown *how, const char *text)
{
	static const char *const name[] = {"calls", "sum", "avg", "min", "max", "key"};

	how->sorted = true;
	for (how->sort = DT_SUM_CALLS; how->sort <= DT_SUM_KEY; how->sort++)
		if (!strcmp(text, name[how->sort]))
			return true;
	dt_cmd_fail("cannot sort by '%s'; columns are calls, sum, avg, min, max, key", text);
	return false;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct sum *o)
{
	static const struct option options[] = {{"sum", required_argument, NULL, 'e'},
						{"sort", required_argument, NULL, 's'},
						{"rows", required_argument, NULL, 'n'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"live", no_argument, NULL, 3},
						{"json", no_argument, NULL, 4},
						{"help", no_argument, NULL, 'h'},
						{0}};
	int c;

	while ((c = getopt_long(argc, argv, "e:s:n:h", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			if (o->n == DT_SUMS_MOST) {
				dt_cmd_fail("sum: -e can be given %u times at most", DT_SUMS_MOST);
				return 2;
			}
			o->text[o->n++] = optarg;
			break;
		case 's':
			if (!parse_sort(&o->how, optarg))
				return 2;
			break;
		case 'n':
			if (!dt_table_number(optarg, "rows", &o->how.rows))
				return 2;
			break;
		case 1:
			o->when.from = optarg;
			break;
		case 2:
			o->when.to = optarg;
			break;
		case 3:
			o->live = true;
			break;
		case 4:
			o->json = true;
			break;
		case 'h':
			return fputs(help, stdout) == EOF;
		default:
			return dt_cmd_usage("sum");
		}
	}
	if (!o->n && (o->when.from || o->when.to)) {
		dt_cmd_fail(
			"sum: --from and --to go with -e: of sums that were made while recording, "
			"there is only the whole");
		return 2;
	}
	if (o->n && o->live) {
		dt_cmd_fail("sum: --live goes without -e: it shows the sums that are being made "
			    "(record --sum)");
		return 2;
	}
	return -1;
}

/* Checks the words before anything is opened. */
static int check(const struct sum *o)
{
	struct dt_sums_words w;
	struct dt_error e;

	for (size_t i = 0; i < o->n; i++)
		if (dt_sums_parse(&w, o->text[i], &e)) {
			dt_cmd_fail("sum: %s", e.text);
			return 2;
		}
	return -1;
}

int dt_cmd_sum(int argc, char **argv)
{
	struct sum o = {0};
	struct dt_live live = {.process = -1, .tell.fd = -1};
	struct dt_formats formats = {0};
	struct dt_reader *r;
	int status = parse(argc, argv, &o);

	if (status < 0)
		status = check(&o);
	if (status >= 0)
		return status;
	if (o.live)
		dt_live_find(&live, optind < argc ? argv[optind] : DT_DEFAULT_FILE);
	r = dt_cmd_open(argc, argv, "sum", NULL, &status);
	if (r) {
		formats.reader = r;
		o.how.formats = &formats;
		status = o.n	  ? sum_calls(r, &o)
			 : o.live ? print_live(r, &o, live.process)
				  : print_made(r, &o, false);
		dt_formats_free(&formats);
		dt_cmd_say_lost(r);
		dt_reader_close(r);
	}
	if (live.name)
		dt_live_close(&live);
	return status;
}
