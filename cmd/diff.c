/* SPDX-License-Identifier: MIT */
/* devtrace diff: compares two traces of one program. */
#include "cmd/diff.h"
#include "cmd/open.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "analyse/chosen.h"
#include "analyse/match.h"
#include "analyse/stats.h"
#include "cmd/commands.h"
#include "cmd/object.h"
#include "cmd/table.h"

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
	"      --first          instead: in each thread the first call that is not the same in\n"
	"                       both, with the calls it is in. Exit status 3 when there is one\n"
	"      --arguments      with --first: arguments must be the same, too, but pointers\n"
	"      --results        with --first: and results, but pointers\n"
	"      --pointers       with these: also pointers, and values of unknown types\n"
	"  -h, --help           show this\n"
	"\n"
	"Calls whose duration is not known are counted, but not in the times, as in report.\n";

enum key { SELF, TOTAL, CALLS, AVG, NAME, KEYS };

static const char *const key_name[KEYS] = {"self", "total", "calls", "avg", "name"};

/* The sums of a function in one trace; times in ns. */
struct sums {
	uint64_t calls, timed;
	double total, self, sum;
};

struct row {
	uint32_t function; /* index into dt_match.function */
	const char *name;
	struct sums in[2]; /* A, B */
	double change;	   /* B - A, of the key */
};

struct table {
	struct dt_diff *diff;
	struct dt_match match;
	struct sums *sums[2]; /* of A and B, by index into dt_match.function */
	struct row *row;
	size_t rows;
};

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

	k->calls++;
	if (k->choice.filter && !dt_chosen_end(&k->choice, c))
		return;
	k->taken++;
	dt_stats_call(&k->stats, c);
}

static int read_side(struct table *t, unsigned side)
{
	struct dt_diff *d = t->diff;
	struct dt_reader_range range = {.order = DT_BY_THREAD};
	struct side k = {.calls = 0};
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

static double average(const struct sums *s)
{
	return s->timed ? s->sum / (double)s->timed : 0;
}

static double value_of(int key, const struct sums *s)
{
	switch (key) {
	case TOTAL:
		return s->total;
	case CALLS:
		return (double)s->calls;
	case AVG:
		return average(s);
	default:
		return s->self;
	}
}

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

static bool is_shown(const struct table *t, bool *const shown[2], uint32_t f)
{
	const uint32_t *row = t->match.function[f].row;

	if (!f)
		return shown[0][0];
	return (row[0] && shown[0][row[0]]) || (row[1] && shown[1][row[1]]);
}

static bool make_rows(struct table *t)
{
	struct dt_diff *d = t->diff;
	bool *shown[2] = {dt_cmd_shown(d->reader[0], &d->select),
			  dt_cmd_shown(d->reader[1], &d->select)};

	t->row = calloc(t->match.n, sizeof(*t->row));
	for (uint32_t i = 0; t->row && shown[0] && shown[1] && i < t->match.n; i++) {
		const uint32_t *row = t->match.function[i].row;
		struct row *x = &t->row[t->rows];

		if ((!t->sums[0][i].calls && !t->sums[1][i].calls) || !is_shown(t, shown, i))
			continue;
		*x = (struct row){i,
				  dt_reader_function_name(d->reader[!row[0]], row[!row[0]]),
				  {t->sums[0][i], t->sums[1][i]},
				  0};
		x->change = value_of(d->key, &x->in[1]) - value_of(d->key, &x->in[0]);
		t->rows++;
	}
	if (t->row)
		qsort(t->row, t->rows, sizeof(*t->row), d->key == NAME ? by_name : by_change);
	for (unsigned side = 0; side < 2; side++)
		dt_cmd_unhooked(d->reader[side], shown[side], d->path[side]);
	free(shown[0]);
	free(shown[1]);
	return t->row && shown[0] && shown[1];
}

/* ---- printing ---- */

static void print_time(const struct sums *s, double ns)
{
	if (s->timed)
		dt_table_ns(ns);
	else
		printf("%12s", "-");
}

static void print_change(double ns)
{
	double size = fabs(ns);

	printf(" %+8.3f %s",
	       size < 1e6   ? ns / 1e3
	       : size < 1e9 ? ns / 1e6
			    : ns / 1e9,
	       size < 1e6   ? "us"
	       : size < 1e9 ? "ms"
			    : "s ");
}

static void print_difference(int key, const struct sums *in)
{
	double a = value_of(key, &in[0]), b = value_of(key, &in[1]);

	putchar(' ');
	if (key == CALLS)
		printf("%+12.0f", b - a);
	else if (in[0].timed || in[1].timed)
		print_change(b - a);
	else
		printf("%12s", "-");
	if (a > 0 && in[1].calls)
		printf(" %8.2f", b / a);
	else
		printf(" %8s", "-");
}

static void print_sums(int key, const struct sums *in)
{
	print_time(&in[0], in[0].self);
	print_time(&in[1], in[1].self);
	print_difference(key, in);
	print_time(&in[0], in[0].total);
	print_time(&in[1], in[1].total);
	printf(" %10llu %10llu", (unsigned long long)in[0].calls, (unsigned long long)in[1].calls);
	print_time(&in[0], average(&in[0]));
	print_time(&in[1], average(&in[1]));
}

/* Prints the last row. Only these sums make sense for all functions together. */
static void print_all(int key, const struct sums *in)
{
	print_time(&in[0], in[0].self);
	print_time(&in[1], in[1].self);
	if (key == SELF || key == NAME || key == CALLS)
		print_difference(key, in);
	else
		printf(" %12s %8s", "", "");
	printf("%12s%12s %10llu %10llu%12s%12s  (all)\n", "", "", (unsigned long long)in[0].calls,
	       (unsigned long long)in[1].calls, "", "");
}

static void print_table(const struct table *t)
{
	struct sums all[2] = {0};
	int key = t->diff->key;

	printf("difference and ratio: of %s, B to A\n", key_name[key == NAME ? SELF : key]);
	printf("%12s%12s %12s %8s%12s%12s %10s %10s%12s%12s  %s\n", "self A", "self B",
	       "difference", "ratio", "total A", "total B", "calls A", "calls B", "avg A", "avg B",
	       "function");
	for (size_t i = 0; i < t->rows; i++) {
		const struct row *x = &t->row[i];

		for (unsigned side = 0; side < 2; side++) {
			all[side].calls += x->in[side].calls;
			all[side].timed += x->in[side].timed;
			all[side].self += x->in[side].self;
		}
		if (t->diff->rows && i >= t->diff->rows)
			continue;
		print_sums(key, x->in);
		printf("  %s%s\n", x->name,
		       !x->in[1].calls	 ? "  (only in A)"
		       : !x->in[0].calls ? "  (only in B)"
					 : "");
	}
	if (t->rows)
		print_all(key, all);
	else
		puts("no calls");
	for (unsigned side = 0; side < 2 && t->diff->subtract; side++) {
		printf("%c:\n", 'A' + (int)side);
		dt_table_costs(t->diff->reader[side]);
	}
}

static void print_json_sums(const char *name, const struct sums *s)
{
	dt_object_member(name);
	printf("{\"calls\": %llu, \"timed\": %llu", (unsigned long long)s->calls,
	       (unsigned long long)s->timed);
	if (s->timed) {
		dt_object_ns("total", s->total);
		dt_object_ns("self", s->self);
		dt_object_ns("avg", average(s));
	}
	putchar('}');
}

static void print_json(const struct table *t)
{
	for (size_t i = 0; i < t->rows && (!t->diff->rows || i < t->diff->rows); i++) {
		const struct row *x = &t->row[i];
		const uint32_t *row = t->match.function[x->function].row;
		unsigned side = !row[0];

		dt_object_begin("function");
		dt_object_text("function", x->name);
		dt_object_text("module", dt_export_module(t->diff->reader[side], row[side]));
		print_json_sums("a", &x->in[0]);
		print_json_sums("b", &x->in[1]);
		dt_object_end();
	}
}

static int print(const struct table *t)
{
	if (t->diff->json) {
		print_json(t);
	} else {
		dt_diff_print_traces(t->diff);
		print_table(t);
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
	for (unsigned side = 0; side < 2 && !status; side++)
		status = read_side(&t, side);
	if (!status)
		status = make_rows(&t) ? print(&t) : dt_cmd_fail("out of memory");
	free(t.row);
	free(t.sums[0]);
	free(t.sums[1]);
	dt_match_free(&t.match);
	return status;
}

/* ---- the command ---- */

static bool parse_key(const char *text, int *key)
{
	for (*key = 0; *key < KEYS; ++*key)
		if (!strcmp(text, key_name[*key]))
			return true;
	dt_cmd_fail("cannot sort by '%s'; keys are self, total, calls, avg, name", text);
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
		else if (c == 'h')
			status = fputs(help, stdout) == EOF;
		else
			status = dt_cmd_usage("diff");
	}
	if (status >= 0)
		return status;
	if (!d->first && (d->arguments || d->results || d->pointers))
		dt_cmd_fail("diff: --arguments, --results and --pointers are for --first");
	else if (d->pointers && !d->arguments && !d->results)
		dt_cmd_fail("diff: --pointers of what? say --arguments, --results, or both");
	else if (d->first && (d->subtract || d->rows || d->key))
		dt_cmd_fail("diff: --first has no table: -s, -n and --subtract do not go with it");
	else if (argc - optind != 2)
		dt_cmd_fail("diff: two trace files, A and B");
	else
		return -1;
	return dt_cmd_usage("diff");
}

int dt_cmd_diff(int argc, char **argv)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct dt_diff d = {0};
	int status = parse(argc, argv, &d);
	struct dt_error e;

	if (status < 0) {
		dt_needs_add(&needs, DT_NEED_TRACE, argv[optind]);
		dt_needs_add(&needs, DT_NEED_TRACE, argv[optind + 1]);
		status = dt_cmd_confine(&needs);
		for (unsigned side = 0; side < 2 && !status; side++) {
			d.path[side] = argv[optind + (int)side];
			d.reader[side] = dt_reader_open(d.path[side], &e);
			if (!d.reader[side])
				status = dt_cmd_fail("%s", e.text);
		}
		if (!status)
			status = d.first ? dt_diff_first(&d) : compare(&d);
		for (unsigned side = 0; side < 2; side++) {
			if (d.reader[0] && d.reader[1])
				dt_cmd_say_lost(d.reader[side]);
			dt_reader_close(d.reader[side]);
		}
	}
	dt_selection_clear(&d.select);
	return status;
}
