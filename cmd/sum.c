/* SPDX-License-Identifier: MIT */
/* devtrace sum: sums over calls, those that were made while recording, or of a trace's calls. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/meanings.h"
#include "analyse/sum-calls.h"
#include "analyse/text-matches.h"
#include "cmd/commands.h"
#include "cmd/live.h"
#include "cmd/meant.h"
#include "cmd/one-trace.h"
#include "cmd/open.h"
#include "cmd/recording.h"
#include "cmd/sum-table.h"
#include "cmd/table.h"
#include "cmd/terminal.h"
#include "cmd/unmet.h"

static const char help[] =
	"usage: devtrace sum [OPTION]... [FILE]; devtrace sum -p PID -e WORDS...\n"
	"Prints the sums that --sum of record, attach or devtrace PROG has made while recording; or,\n"
	"with -e, sums over the calls of the trace; or, with -p, of a running process, once a second,\n"
	"until Ctrl-C. Nothing is recorded then but the sums.\n"
	"\n"
	"  -e, --sum WORDS        WHAT [by KEY, ...] [if WORDS]. WHAT: count, time, self, result,\n"
	"                         arg1 or the name of an argument, hist(VALUE). KEY: function,\n"
	"                         caller, callers, thread, process, core, depth, result, error,\n"
	"                         arg1 or a name. WORDS: a filter, as -f of calls. Up to eight times\n"
	"  -s, --sort COLUMN      by calls, sum, avg, min, max or key; by sum, or calls, without it\n"
	"  -n, --rows N           the first N rows of each\n"
	"      --from TIME, --to TIME   with -e: begin, end there, as with cat\n"
	"  -p, --process PID      attach to this process; with these, as attach has them:\n"
	"  -F, --function, -N, --no-function, -A, --arguments PAT\n"
	"  -l, --libcalls[=MODULE]\n"
	"      --turns N          with -p: end after N seconds\n"
	"      --live             again each second, as long as the file is being recorded\n"
	"      --json             as JSON, an object a line: doc/json.md\n" DT_TERMINAL_HELP
	"  -h, --help             show this\n"
	"\n"
	"  devtrace record --sum 'hist(size) by caller if malloc' PROG; devtrace sum\n"
	"  devtrace sum -p PID -l -e 'hist(size) by thread if malloc'\n"
	"  devtrace sum -e 'count by path, error if open open64' FILE\n";

struct sum {
	const char *text[DT_SUMS_MOST];
	size_t n;
	struct dt_sums_shown how;
	struct dt_terminal terminal;
	struct dt_sums_fit fit;
	struct dt_range_options when;
	bool json, live;
	uint64_t turns;		/* with -p: so many seconds; 0: until it is told to end */
	const char *process;	/* -p; NULL: of a file */
	struct dt_recording of; /* with -p */
};

/* ---- of the calls of a trace ---- */

static int append_row(void *ctx, const struct dt_sums_row *row)
{
	struct dt_sums_table *t = ctx;
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
static struct dt_sums_table *tables_of(const struct sum *o, struct dt_sums *s)
{
	struct dt_sums_table *t = calloc(o->n + 1, sizeof(*t));

	for (size_t i = 0; t && i < o->n; i++) {
		struct dt_sums_totals totals = dt_sums_totals(s, i);

		t[i] = (struct dt_sums_table){.text = o->text[i],
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

static void print(const struct sum *o, struct dt_sums_table *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i && !o->json)
			putchar('\n');
		if (o->json)
			dt_sum_table_json(&t[i], &o->how);
		else
			dt_sums_table_print(stdout, &t[i], &o->how);
	}
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
	struct dt_sums_table *t = NULL;
	uint64_t folded;
	int status = 2;

	if (!s) {
		dt_cmd_fail("%s", e.text);
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
	if (dt_sum_calls(r, s, &range, &folded, &e)) {
		dt_cmd_fail("%s", e.text);
		goto out;
	}
	t = tables_of(o, s);
	if (!t) {
		dt_cmd_fail("out of memory");
		goto out;
	}
	print(o, t, o->n);
	for (size_t i = 0; i < o->n; i++)
		dt_cmd_unmet_sum(r, dt_sums_words(s, i), dt_sums_filter(s, i));
	if (folded)
		dt_cmd_say_folded(folded, false);
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
	struct dt_sums_table *t;
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
		status = print_made(r, o, alive || o->process);
		if (status || !alive)
			return status;
		if (!screen) {
			putchar('\n');
			fflush(stdout);
		}
		alive = poll(&p, 1, 1000) == 0;
	}
}

/* ---- of a process ---- */

/* Prints the sums in a child, which confines itself. */
static void run_printing(const struct sum *o, pid_t parent)
{
	char *path[] = {(char *)"sum", (char *)(uintptr_t)o->of.trace.path, NULL};
	struct dt_formats formats = {0};
	struct sum of = *o;
	struct dt_reader *r;
	int status;

	/* Ctrl-C is for the parent, which ends attach: then there are the last sums */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	optind = 1;
	r = dt_cmd_open(2, path, "sum", NULL, &status);
	if (!r)
		exit(status);
	formats.reader = r;
	dt_sum_table_names(&of.how, &formats);
	status = print_live(r, &of, o->of.pidfd);
	dt_cmd_say_records_lost(r, status);
	exit(status);
}

/* Waits until a signal asks to end, attach has ended, or the time is over. */
static void wait_end(const struct sum *o)
{
	struct pollfd p = {o->of.pidfd, POLLIN, 0};

	for (uint64_t tenths = 0; !o->turns || tenths < 10 * o->turns; tenths++)
		if (dt_recording_is_asked_to_end() || poll(&p, 1, 100) > 0)
			return;
}

static int show(struct sum *o)
{
	pid_t parent = getpid(), pid;
	int status = 1, wait;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_printing(o, parent);
	if (pid < 0)
		return dt_cmd_fail("cannot fork: %s", strerror(errno));
	wait_end(o);
	kill(o->of.pid, SIGINT);
	while (waitpid(pid, &wait, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(wait))
		status = WEXITSTATUS(wait);
	return status;
}

static int sum_process(struct sum *o)
{
	int status = 1;

	for (size_t i = 0; i < o->n; i++) {
		o->of.word[o->of.words++] = "--sum";
		o->of.word[o->of.words++] = o->text[i];
	}
	if (dt_recording_make(&o->of, "sum", o->process) < 0)
		return 1;
	if (dt_recording_start(&o->of) == 0) {
		if (dt_recording_wait(&o->of) == 0)
			status = show(o);
		if (dt_recording_end(&o->of) && !status)
			status = 1;
	}
	dt_recording_remove(&o->of);
	return status;
}

/* ---- the command ---- */

static bool parse_sort(struct dt_sums_shown *how, const char *text)
{
	static const char *const name[] = {"calls", "sum", "avg", "min", "max", "key"};

	how->sorted = true;
	for (how->sort = DT_SUMS_BY_CALLS; how->sort <= DT_SUMS_BY_KEY; how->sort++)
		if (!strcmp(text, name[how->sort]))
			return true;
	dt_cmd_fail("cannot sort by '%s'; columns are calls, sum, avg, min, max, key", text);
	return false;
}

/* Says which options do not go together. Returns 2, or -1 if all do. */
static int refuse(const struct sum *o, bool file)
{
	if (o->process && (!o->n || o->live || o->when.from || o->when.to || file)) {
		dt_cmd_fail("-p goes with -e, and not with a file, --from, --to or --live: it "
			    "is live");
		return 2;
	}
	if (!o->process && (o->of.words > 2 || o->turns)) {
		dt_cmd_fail("-F, -N, -A, -l and --turns go with -p: of a trace, WORDS choose, "
			    "as in 'count if parse*'");
		return 2;
	}
	if (o->process)
		return -1;
	if (!o->n && (o->when.from || o->when.to)) {
		dt_cmd_fail(
			"sum: --from and --to go with -e: of sums that were made while recording, "
			"there is only the whole");
		return 2;
	}
	if (o->n && o->live) {
		dt_cmd_fail("--live goes without -e: it shows the sums that are being made "
			    "(record --sum)");
		return 2;
	}
	return -1;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct sum *o)
{
	static const char *const passed[] = {"-F", "-N", "-A", "-l"}; /* on to attach */
	static const struct option options[] = {{"sum", required_argument, NULL, 'e'},
						{"sort", required_argument, NULL, 's'},
						{"rows", required_argument, NULL, 'n'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"process", required_argument, NULL, 'p'},
						{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"arguments", required_argument, NULL, 'A'},
						{"libcalls", no_argument, NULL, 'l'},
						{"turns", required_argument, NULL, 5},
						{"live", no_argument, NULL, 3},
						{"json", no_argument, NULL, 4},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	int c, status = -1;

	while ((c = getopt_long(argc, argv, "e:s:n:p:F:N:A:lh", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			if (o->n == DT_SUMS_MOST) {
				dt_cmd_fail("-e can be given %u times at most", DT_SUMS_MOST);
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
		case 'p':
			o->process = optarg;
			break;
		case 'F':
		case 'N':
		case 'A':
		case 'l':
			if (o->of.words + 2 + 2 * DT_SUMS_MOST > DT_RECORDING_WORDS)
				return dt_cmd_fail("too many options");
			o->of.word[o->of.words++] = passed[strchr("FNAl", c) - "FNAl"];
			if (c != 'l')
				o->of.word[o->of.words++] = optarg;
			break;
		case 5:
			if (!dt_table_number(optarg, "seconds", &o->turns))
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
			if (!dt_terminal_option(&o->terminal, c, &status))
				return dt_cmd_usage("sum");
			if (status >= 0)
				return status;
		}
	}
	return refuse(o, optind < argc);
}

/* Checks the words before anything is opened. */
static int check(const struct sum *o)
{
	struct dt_sums_words w;
	struct dt_error e;

	for (size_t i = 0; i < o->n; i++)
		if (dt_sums_parse(&w, o->text[i], &e)) {
			dt_cmd_fail("%s", e.text);
			return 2;
		}
	return -1;
}

int dt_cmd_sum(int argc, char **argv)
{
	struct sum o = {.how.more = "without -n all are shown",
			.of = {.word = {"devtrace", "attach"}, .words = 2}};
	struct dt_live live = {.process = -1, .tell.fd = -1};
	struct dt_formats formats = {0};
	struct dt_reader *r;
	int status = parse(argc, argv, &o);

	if (status < 0)
		status = check(&o);
	if (status >= 0)
		return status;
	if (!o.n && optind < argc && strchr(argv[optind], ' ') && access(argv[optind], F_OK)) {
		dt_cmd_fail("the words of a sum stand behind -e: devtrace sum -e '%s'%s%s%s",
			    argv[optind], optind + 1 < argc ? " " : "",
			    optind + 1 < argc ? argv[optind + 1] : "", dt_cmd_meant_hint());
		return 2;
	}
	if (o.live || o.process)
		dt_terminal_begin(&o.terminal, false);
	else
		dt_terminal_listing(&o.terminal, !o.json);
	dt_sum_table_fit(&o.how, &o.fit, &o.terminal);
	if (o.process)
		return sum_process(&o);
	if (o.live)
		dt_live_find(&live, optind < argc ? argv[optind] : DT_DEFAULT_FILE);
	r = dt_cmd_open_one(argc, argv, "sum", NULL, &status);
	if (r) {
		formats.reader = r;
		dt_sum_table_names(&o.how, &formats);
		status = o.n	  ? sum_calls(r, &o)
			 : o.live ? print_live(r, &o, live.process)
				  : print_made(r, &o, false);
		dt_formats_free(&formats);
		dt_cmd_say_records_lost(r, status);
		dt_reader_close(r);
	}
	if (live.name)
		dt_live_close(&live);
	return status;
}
