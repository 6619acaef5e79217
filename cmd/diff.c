/* SPDX-License-Identifier: MIT */
/* devtrace diff: compares two traces of one program. */
#include "cmd/diff-work.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chosen.h"
#include "analyse/stats.h"
#include "cmd/commands.h"
#include "cmd/meant.h"
#include "cmd/one-trace.h"
#include "cmd/table.h"
#include "cmd/unmet.h"

static const char help[] =
	"usage: devtrace diff [OPTION]... A B\n"
	"Compares two traces of one program: what each function took in A and in B, what changed\n"
	"most first. Functions are the same by name and file, whatever their addresses: A and B\n"
	"may be of different builds.\n"
	"\n"
	"  -s, --sort KEY       self (default), total, calls, avg: by the change of that, up or\n"
	"                       down; name\n"
	"  -n, --rows N         only the first N functions\n"
	"  -F, --function PAT   only functions that match the shell pattern\n"
	"  -N, --no-function PAT  not those\n"
	"  -f, --filter WORDS   only calls that these words mean in their trace, as in calls\n"
	"      --from TIME      begin there in both: 1.5ms after the first record\n"
	"      --to TIME        end there\n"
	"      --json           as JSON, an object a line: doc/json.md\n"
	"      --subtract       times without what recording cost\n"
	"      --least PERCENT  say slower or faster only where it is by so much (5)\n"
	"      --first          instead: in each thread the first call that is not the same in\n"
	"                       both, with the calls it is in. Exit status 3 when there is one\n"
	"      --arguments      with --first: arguments must be the same, too, but pointers\n"
	"      --results        with --first: and results, but pointers\n"
	"      --pointers       with these: also pointers, and values of unknown types\n" DT_TERMINAL_HELP
	"  -h, --help           show this\n"
	"\n"
	"Calls whose duration is not known are counted, but not in the times, as in report.\n"
	"New and gone: called in only one of them. Slower and faster: a call takes, without its\n"
	"callees (-s total, avg: with them), longer or shorter, and by chance that is less than 1 %\n"
	"likely for all functions together (Mann-Whitney U on means of consecutive calls, Holm).\n";

/* ---- reading ---- */

static bool add_stats(struct table *t, unsigned side, const struct dt_stats *s)
{
	double ns = dt_reader_ns_per_tick(t->diff->reader[side]);
	struct sums *sums = t->sums[side] = calloc(t->match.n, sizeof(*sums));

	for (uint32_t i = 0; sums && i < s->functions; i++) {
		const struct dt_function_stats *f = &s->function[i];
		struct sums *to = &sums[i < t->match.rows[side] ? t->match.of[side][i] : 0];

		to->calls += f->calls;
		to->timed += f->timed;
		to->total += (double)f->total * ns;
		to->self += (double)f->self * ns;
		to->sum += (double)f->sum * ns;
	}
	return sums != NULL;
}

/* A pass over the calls of one side. */
struct side {
	struct dt_stats stats;
	struct dt_choosing choice;
	const struct dt_match *match;
	struct dt_batches *batches; /* by index into dt_match.function */
	unsigned number;	    /* 0: A, 1: B */
	bool self;		    /* their own times are compared */
	uint64_t calls, taken;
};

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct side *k = ctx;

	if (k->choice.filter)
		dt_chosen_begin(&k->choice, c);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct side *k = ctx;
	uint64_t ticks, less;
	uint32_t function;

	k->calls++;
	if (k->choice.filter && !dt_chosen_end(&k->choice, c))
		return;
	k->taken++;
	dt_stats_call(&k->stats, c);
	if (c->flags & DT_CALL_UNTIMED)
		return;
	function =
		c->function < k->match->rows[k->number] ? k->match->of[k->number][c->function] : 0;
	ticks = dt_call_ticks(c);
	less = k->self && c->children < ticks ? c->children : k->self ? ticks : 0;
	dt_batches_add(&k->batches[function], ticks - less);
}

static int read_side(struct table *t, unsigned side)
{
	struct dt_diff *d = t->diff;
	struct dt_reader_range range = {.order = DT_BY_THREAD};
	struct side k = {.match = &t->match,
			 .batches = t->batches[side],
			 .number = side,
			 .self = d->key != DT_DIFF_TOTAL && d->key != DT_DIFF_AVG};
	struct dt_pair_events events = {.begin = on_begin, .end = on_end, .ctx = &k};
	struct dt_error e;
	double cost[256];
	int status = 0;

	if (!dt_cmd_range(d->reader[side], &d->when, &range) ||
	    (d->subtract && !dt_cmd_costs(d->reader[side], cost)) ||
	    (d->filter && !(k.choice.filter = dt_cmd_filter(d->reader[side], d->filter))))
		return 2;
	if (d->subtract && k.choice.filter && dt_cmd_filter_has_text(k.choice.filter)) {
		dt_cmd_filter_free(k.choice.filter);
		return 2;
	}
	range.values = k.choice.filter && dt_filter_needs_values(k.choice.filter);
	events.cost = d->subtract ? cost : NULL;
	if (dt_chosen_run(&k.choice, d->reader[side], &range, &events, &e))
		status = dt_cmd_fail("%s", e.text);
	else if (k.stats.no_memory || !add_stats(t, side, &k.stats))
		status = dt_cmd_fail("out of memory");
	else if (d->filter && k.taken != k.calls)
		dt_cmd_fail("note: %c: -f leaves out %llu of %llu calls", 'A' + (int)side,
			    (unsigned long long)(k.calls - k.taken), (unsigned long long)k.calls);
	dt_stats_free(&k.stats);
	dt_cmd_filter_free(k.choice.filter);
	return status;
}

/* ---- rows ---- */

static int by_change(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (fabs(x->change) != fabs(y->change))
		return fabs(x->change) < fabs(y->change) ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* ---- verdicts ---- */

static int by_p(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;

	return x->p < y->p ? -1 : x->p > y->p;
}

/* Adjusts what is known of each function to how many have been compared (Holm): so that of all that
 * take the same time in both the first one is found different with that chance. */
static void adjust(struct row **row, size_t n)
{
	double least = 0;

	if (n)
		qsort(row, n, sizeof(struct row *), by_p);
	for (size_t i = 0; i < n; i++) {
		least = fmax(least, fmin(1, row[i]->p * (double)(n - i)));
		row[i]->p = least;
	}
}

/* Returns how long recording a call took, in ns, in the trace in which it took longer; 0: neither
 * says. A difference that is smaller can come from where the records went. */
static double cost_of_call(const struct dt_diff *d)
{
	double most = 0;

	for (unsigned side = 0; side < 2; side++) {
		struct dt_cmd_cost entry, leave;

		if (dt_cmd_cost(d->reader[side], "entry", &entry) &&
		    dt_cmd_cost(d->reader[side], "exit", &leave))
			most = fmax(most, (entry.median + leave.median) *
						  dt_reader_ns_per_tick(d->reader[side]));
	}
	return most;
}

static enum verdict verdict_of(const struct table *t, const struct row *x, double cost)
{
	const struct dt_diff *d = t->diff;
	double a = dt_batches_median(&t->batches[0][x->function]) *
		   dt_reader_ns_per_tick(d->reader[0]),
	       b = dt_batches_median(&t->batches[1][x->function]) *
		   dt_reader_ns_per_tick(d->reader[1]);

	if (!x->in[0].calls || !x->in[1].calls)
		return x->in[0].calls ? GONE : NEW;
	if (isnan(x->p))
		return TOO_FEW;
	if (x->p > DT_DIFF_LEVEL || fabs(b - a) < d->least / 100 * a || fabs(b - a) < cost)
		return SAME;
	return b > a ? SLOWER : FASTER;
}

/* Finds out which functions are new, gone, slower or faster. False: out of memory. */
static bool judge(struct table *t)
{
	struct row **compared = calloc(t->rows + 1, sizeof(struct row *));
	const double unit[2] = {dt_reader_ns_per_tick(t->diff->reader[0]),
				dt_reader_ns_per_tick(t->diff->reader[1])};
	double cost = cost_of_call(t->diff);
	size_t n = 0;

	for (size_t i = 0; compared && i < t->rows; i++) {
		const struct dt_batches *const of[2] = {&t->batches[0][t->row[i].function],
							&t->batches[1][t->row[i].function]};

		t->row[i].p = NAN;
		if (of[0]->n < DT_BATCHES_LEAST || of[1]->n < DT_BATCHES_LEAST)
			continue;
		t->row[i].p = dt_batches_compare(of, unit);
		compared[n++] = &t->row[i];
	}
	if (!compared)
		return false;
	adjust(compared, n);
	free(compared);
	for (size_t i = 0; i < t->rows; i++) {
		t->row[i].verdict = verdict_of(t, &t->row[i], cost);
		t->count[t->row[i].verdict]++;
	}
	return true;
}

static bool is_shown(const struct table *t, bool *const shown[2], uint32_t f)
{
	const uint32_t *row = t->match.function[f].row;

	if (!f)
		return shown[0][0];
	return (row[0] && shown[0][row[0]]) || (row[1] && shown[1][row[1]]);
}

/* Says which patterns mean no function of either trace, when none of them means one. */
static void say_unmet(const struct dt_diff *d)
{
	const struct dt_selection *s = &d->select;

	for (unsigned side = 0; side < 2; side++) {
		struct dt_selection adding = {0};
		bool *shown, any = false;

		for (size_t i = 0; i < s->n; i++)
			if (!s->pattern[i].remove &&
			    dt_selection_add(&adding, s->pattern[i].text, false, NULL)) {
				dt_selection_clear(&adding);
				return;
			}
		shown = adding.n ? dt_cmd_shown(d->reader[side], &adding) : NULL;
		for (uint32_t i = 1; shown && i <= dt_reader_functions(d->reader[side]); i++)
			any = any || shown[i];
		free(shown);
		dt_selection_clear(&adding);
		if (any)
			return;
	}
	dt_cmd_unmet_patterns(d->reader[0], s);
}

static bool make_rows(struct table *t)
{
	struct dt_diff *d = t->diff;
	bool *shown[2] = {dt_cmd_shown(d->reader[0], &d->select),
			  dt_cmd_shown(d->reader[1], &d->select)};
	bool judged;

	t->row = calloc(t->match.n, sizeof(*t->row));
	for (uint32_t i = 0; t->row && shown[0] && shown[1] && i < t->match.n; i++) {
		const uint32_t *row = t->match.function[i].row;
		struct row *x = &t->row[t->rows];

		if ((!t->sums[0][i].calls && !t->sums[1][i].calls) || !is_shown(t, shown, i))
			continue;
		*x = (struct row){i,
				  dt_reader_function_name(d->reader[!row[0]], row[!row[0]]),
				  {t->sums[0][i], t->sums[1][i]},
				  0,
				  NAN,
				  SAME};
		x->change = dt_diff_value(d->key, &x->in[1]) - dt_diff_value(d->key, &x->in[0]);
		t->rows++;
	}
	judged = t->row && judge(t);
	if (t->row)
		qsort(t->row, t->rows, sizeof(*t->row),
		      d->key == DT_DIFF_NAME ? by_name : by_change);
	if (!t->rows)
		say_unmet(d);
	for (unsigned side = 0; side < 2; side++)
		dt_cmd_unhooked(d->reader[side], shown[side], d->path[side]);
	free(shown[0]);
	free(shown[1]);
	return judged && shown[0] && shown[1];
}

static int print(const struct table *t)
{
	if (t->diff->json) {
		dt_diff_print_json(t);
	} else {
		dt_diff_print_traces(t->diff);
		dt_diff_print_table(t);
	}
	return fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table") : 0;
}

void dt_diff_print_traces(const struct dt_diff *d)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct dt_process_info *root = dt_match_root(d->reader[side]);

		printf("%c: %s%s%s\n", 'A' + (int)side, d->path[side], root ? "  " : "",
		       root ? dt_cmd_plain(root->cmdline) : "");
	}
}

static int compare(struct dt_diff *d)
{
	struct table t = {.diff = d};
	int status = 0;

	if (dt_match_read(&t.match, (const struct dt_reader *const *)d->reader))
		status = dt_cmd_fail("out of memory");
	for (unsigned side = 0; side < 2 && !status; side++) {
		t.batches[side] = calloc(t.match.n, sizeof(*t.batches[side]));
		status = t.batches[side] ? read_side(&t, side) : dt_cmd_fail("out of memory");
	}
	if (!status)
		status = make_rows(&t) ? print(&t) : dt_cmd_fail("out of memory");
	free(t.row);
	free(t.sums[0]);
	free(t.sums[1]);
	free(t.batches[0]);
	free(t.batches[1]);
	dt_match_free(&t.match);
	return status;
}

/* ---- the command ---- */

static bool parse_key(const char *text, int *key)
{
	for (*key = 0; *key < DT_DIFF_KEYS; ++*key)
		if (!strcmp(text, dt_diff_key_name[*key]))
			return true;
	dt_cmd_fail("cannot sort by '%s'; keys are self, total, calls, avg, name", text);
	return false;
}

static bool parse_least(struct dt_diff *d, const char *text)
{
	char *end;

	d->least = strtod(text, &end);
	if (text[0] >= '0' && text[0] <= '9' && (!*end || !strcmp(end, "%")) && d->least <= 1e6)
		return true;
	dt_cmd_fail("--least %s: say per cent of the time, such as 5", text);
	return false;
}

/* Takes an option that has an argument. Returns -1: it is taken; otherwise the exit status. */
static int parse_text(struct dt_diff *d, int c)
{
	struct dt_error e;

	if (c == 's')
		return parse_key(optarg, &d->key) ? -1 : 2;
	if (c == 'n')
		return dt_table_number(optarg, "rows", &d->rows) ? -1 : 2;
	if (!dt_selection_add(&d->select, optarg, c == 'N', &e))
		return -1;
	dt_cmd_fail("%s", e.text);
	return 2;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct dt_diff *d)
{
	static const struct option options[] = {{"sort", required_argument, NULL, 's'},
						{"rows", required_argument, NULL, 'n'},
						{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"filter", required_argument, NULL, 'f'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"json", no_argument, NULL, 3},
						{"subtract", no_argument, NULL, 4},
						{"first", no_argument, NULL, 5},
						{"arguments", no_argument, NULL, 6},
						{"results", no_argument, NULL, 7},
						{"pointers", no_argument, NULL, 8},
						{"least", required_argument, NULL, 9},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	bool *const flag[] = {&d->json,	     &d->subtract, &d->first,
			      &d->arguments, &d->results,  &d->pointers};
	int c, status = -1;

	while (status < 0 && (c = getopt_long(argc, argv, "s:n:F:N:f:h", options, NULL)) != -1) {
		if (c == 's' || c == 'n' || c == 'F' || c == 'N')
			status = parse_text(d, c);
		else if (c == 'f')
			d->filter = optarg;
		else if (c == 1)
			d->when.from = optarg;
		else if (c == 2)
			d->when.to = optarg;
		else if (c >= 3 && c <= 8)
			*flag[c - 3] = true;
		else if (c == 9)
			status = parse_least(d, optarg) ? -1 : 2;
		else if (c == 'h')
			status = fputs(help, stdout) == EOF;
		else if (!dt_terminal_option(&d->terminal, c, &status))
			status = dt_cmd_usage("diff");
	}
	if (status >= 0)
		return status;
	if (!d->first && (d->arguments || d->results || d->pointers))
		dt_cmd_fail("--arguments, --results and --pointers are for --first");
	else if (d->pointers && !d->arguments && !d->results)
		dt_cmd_fail("--pointers of what? say --arguments, --results, or both");
	else if (d->first && (d->subtract || d->rows || d->key))
		dt_cmd_fail("--first has no table: -s, -n and --subtract do not go with it");
	else if (argc - optind != 2)
		dt_cmd_fail("two trace files, A and B");
	else
		return -1;
	return dt_cmd_usage("diff");
}

int dt_cmd_diff(int argc, char **argv)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct dt_diff d = {.least = 5};
	int status = parse(argc, argv, &d);
	struct dt_error e;

	if (status < 0) {
		dt_terminal_listing(&d.terminal, !d.json);
		const char *path[2] = {NULL, NULL};

		status = 0;
		for (unsigned side = 0; side < 2 && !status; side++) {
			d.path[side] = argv[optind + (int)side];
			path[side] = dt_cmd_one_trace(d.path[side], &status);
			if (path[side])
				dt_needs_add(&needs, DT_NEED_TRACE, path[side]);
		}
		status = status ? status : dt_cmd_confine(&needs);
		for (unsigned side = 0; side < 2 && !status; side++) {
			d.reader[side] = dt_reader_open(path[side], &e);
			if (!d.reader[side])
				status = dt_cmd_fail("%s%s", e.text, dt_cmd_meant_hint());
		}
		if (!status)
			status = d.first ? dt_diff_first(&d) : compare(&d);
		for (unsigned side = 0; side < 2; side++) {
			if (d.reader[0] && d.reader[1])
				dt_cmd_say_lost(d.reader[side], status);
			dt_reader_close(d.reader[side]);
		}
	}
	dt_selection_clear(&d.select);
	return status;
}
