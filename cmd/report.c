/* SPDX-License-Identifier: MIT */
/* devtrace report: a table of functions and of the times of their calls. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyse/meanings.h"
#include "filter/failures.h"
#include "analyse/chosen.h"
#include "analyse/feed.h"
#include "analyse/stats.h"
#include "cmd/commands.h"
#include "cmd/left-out.h"
#include "cmd/open.h"
#include "cmd/reasons.h"
#include "cmd/report-waits.h"
#include "cmd/table.h"
#include "cmd/top.h"
#include "show/marks.h"

static const char help[] =
	"usage: devtrace report [OPTION]... [FILE]\n"
	"Prints a table of the functions in a trace: how often each was called and how long\n"
	"its calls took.\n"
	"\n"
	"  -s, --sort KEY       total (default), self, calls, avg, min, p50, p99, max,\n"
	"                       unwound, tail or name; cpu, wait or selfwait\n"
	"  -n, --rows N         only the first N functions\n"
	"  -F, --function PAT   show only functions that match the shell pattern\n"
	"  -N, --no-function PAT  do not show those\n"
	"      --failed         only calls that failed, and for which reasons\n"
	"  -f, --filter WORDS   only calls that these words mean: 'time>1ms thread:worker*', 'failed',\n"
	"                       'len>4096 write' (devtrace-calls(1) has them all)\n"
	"      --from TIME      begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME        end there\n"
	"      --waits          which functions waited, for what, how often and how long; sorted\n"
	"                       by time (needs record -S)\n"
	"      --left-out       the sums of calls that record --filter has left out\n"
	"      --live           of a trace that is being recorded: once a second, until q or a signal (see\n"
	"                       devtrace top, which also attaches)\n"
	"      --json           as JSON, times in nanoseconds\n"
	"      --subtract       times without what recording cost, as it was measured when the\n"
	"                       recording began; says how much that is\n"
	"      --anyway         also of a trace that does not add up\n"
	"  -h, --help           show this\n"
	"\n"
	"Total: a call with its callees; recursive calls count once; where the time of the\n"
	"outermost one is not known, those in it count. Self: without callees.\n"
	"Both include what recording the callees cost, without --subtract, and none of the\n"
	"times in which a thread waited for devtrace, which have a row of their own. P50 and P99 are within 3.2 %.\n"
	"Cpu and wait, where context switches were recorded (record -S): what of the total a\n"
	"processor worked on it, and how long its thread was on none, because it slept or others\n"
	"were on all of them. Self wait: without callees.\n"
	"Calls: entries. Those whose duration is not known (unfinished, with records lost or\n"
	"recording paused meanwhile, or out of order) are counted, but not in the times. Exits without an entry, of calls begun\n"
	"before the trace or where records were lost, are no calls: they stand behind the name.\n"
	"FILE is devtrace.db when not given.\n";

static const char *const key_name[DT_STATS_KEYS] = {"total", "self", "calls", "avg",	 "min",
						    "p50",   "p99",  "max",   "unwound", "tail",
						    "name",  "cpu",  "wait",  "selfwait"};

struct report {
	enum dt_stats_key key;
	uint64_t rows;
	bool json, subtract, anyway, failed, waiting, live;
	bool left_out;		 /* the sums of what a filter has left out while recording */
	const char *filter_text; /* NULL: all calls are wanted */
	struct dt_choosing choice;
	bool waits; /* the trace has switches: it is known what was waiting */
	struct dt_failures failures;
	struct dt_reasons reasons; /* with --failed */
	struct dt_selection select;
	struct dt_range_options when;
	struct dt_reader *reader;
	struct dt_stats stats;
	uint64_t others[256]; /* numbers of records that are no entries or exits, by kind */
	uint64_t from, to;    /* ticks: the range */
	struct dt_stats held; /* the waits for the tracer, as the calls of one function */
	struct why {
		char word[16];
		uint64_t times;
	} why[8];
};

static struct dt_stats_row *make_rows(const struct dt_reader *r, const struct report *o,
				      const struct dt_stats *s, const bool *shown, size_t *n)
{
	struct dt_stats_row *row = calloc(s->functions + 1, sizeof(*row));

	*n = 0;
	for (uint32_t i = 0; row && i < s->functions; i++) {
		const struct dt_function_stats *f = &s->function[i];

		if ((!f->calls && !f->no_entry) || !shown[i])
			continue;
		row[(*n)++] = (struct dt_stats_row){f, dt_reader_function_name(r, i),
						    dt_stats_value(f, o->key)};
	}
	if (row)
		qsort(row, *n, sizeof(*row), dt_stats_row_compare);
	return row;
}

/* ---- what the tracer took ---- */

static int on_held(void *ctx, const struct dt_held_row *h)
{
	struct report *o = ctx;
	struct dt_call c = {.begin = h->begin > o->from ? h->begin : o->from,
			    .end = h->end < o->to ? h->end : o->to};
	size_t i = 0;

	if (c.begin >= c.end)
		return 0;
	dt_stats_call(&o->held, &c);
	while (i < sizeof(o->why) / sizeof(*o->why) - 1 && *o->why[i].word &&
	       strcmp(o->why[i].word, h->why))
		i++;
	/* the last place is for all that there is no other one for */
	dt_format(o->why[i].word, sizeof(o->why[i].word), "%s",
		  *o->why[i].word && strcmp(o->why[i].word, h->why) ? "others" : h->why);
	o->why[i].times++;
	return 0;
}

/* Returns the sums of the waits for the tracer; NULL: there were none. */
static const struct dt_function_stats *held(const struct report *o)
{
	return o->held.functions && o->held.function[0].timed ? &o->held.function[0] : NULL;
}

static const char *why_text(const char *word)
{
	static const char *const text[][2] = {{"room", "for room"},
					      {"modules", "for what was loaded"},
					      {"exec", "at an execve"},
					      {"fork", "at a fork"},
					      {"stop", "stopped"}};

	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		if (!strcmp(word, text[i][0]))
			return text[i][1];
	return word;
}

/* Says how many waits could not be noted, because there was no free place to note them in. */
static void say_missed(const struct dt_reader *r)
{
	const char *text = dt_reader_meta(r, "held_missed");
	unsigned long n, ns;

	if (text && sscanf(text, "%lu %lu", &n, &ns) == 2 && n)
		dt_cmd_fail(
			"note: %lu more waits for devtrace, of %.3f ms together, could not be told apart: "
			"they are in the times",
			n, (double)ns / 1e6);
}

static void print_held(const struct dt_reader *r, const struct report *o)
{
	const struct dt_function_stats *f = held(o);
	const char *separator = "  (";

	say_missed(r);
	if (!f)
		return;
	dt_table_time(r, f->sum);
	dt_table_time(r, f->sum);
	if (o->waits)
		printf(" %11s %11s %11s", "-", "-", "-");
	printf(" %10llu", (unsigned long long)f->calls);
	dt_table_time(r, dt_stats_value(f, DT_STATS_AVG));
	dt_table_time(r, f->min);
	dt_table_time(r, dt_stats_quantile(f, 0.5));
	dt_table_time(r, dt_stats_quantile(f, 0.99));
	dt_table_time(r, f->max);
	printf("  waiting for devtrace, in no other row");
	for (size_t i = 0; i < sizeof(o->why) / sizeof(*o->why) && o->why[i].times; i++) {
		printf("%s%llu %s", separator, (unsigned long long)o->why[i].times,
		       why_text(o->why[i].word));
		separator = ", ";
	}
	puts(")");
}

/* Says how many records there are that are no calls: they are not in the table. */
static void print_others(const struct report *o)
{
	static const struct {
		char kind;
		const char *what;
	} names[] = {{DT_EVENT, "events"},
		     {DT_SEND, "messages sent"},
		     {DT_RECEIVE, "messages received"},
		     {DT_SWITCH, "switches"},
		     {DT_RUNDOWN, "rundowns"},
		     {DT_POINT, "points"}};
	const char *separator = "beside calls: ";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t n = o->others[(uint8_t)names[i].kind];

		if (!n)
			continue;
		printf("%s%llu %s", separator, (unsigned long long)n, names[i].what);
		separator = ", ";
	}
	if (separator[0] == ',')
		putchar('\n');
}

/* Prints the columns before a function's name. */
static void print_times(const struct dt_reader *r, const struct report *o,
			const struct dt_stats_row *row)
{
	const struct dt_function_stats *f = row->s;

	if (!f->timed) {
		printf("%11s %11s", "-", "-");
		if (o->waits)
			printf(" %11s %11s %11s", "-", "-", "-");
		printf(" %10llu %11s %11s %11s %11s %11s", (unsigned long long)f->calls, "-", "-",
		       "-", "-", "-");
		return;
	}
	dt_table_time(r, f->total);
	dt_table_time(r, f->self);
	if (o->waits) {
		dt_table_time(r, dt_stats_value(f, DT_STATS_CPU));
		dt_table_time(r, f->waited);
		dt_table_time(r, f->waited_self);
	}
	printf(" %10llu", (unsigned long long)f->calls);
	dt_table_time(r, dt_stats_value(f, DT_STATS_AVG));
	dt_table_time(r, f->min);
	dt_table_time(r, dt_stats_quantile(f, 0.5));
	dt_table_time(r, dt_stats_quantile(f, 0.99));
	dt_table_time(r, f->max);
}

static void print_table(const struct dt_reader *r, const struct report *o,
			struct dt_reasons *reasons, const struct dt_stats_row *row, size_t n)
{
	printf("%11s %11s", "total", "self");
	if (o->waits)
		printf(" %11s %11s %11s", "cpu", "wait", "self wait");
	printf(" %10s %11s %11s %11s %11s %11s  %s\n", "calls", "avg", "min", "p50", "p99", "max",
	       "function");
	for (size_t i = 0; i < n && (!o->rows || i < o->rows); i++) {
		const struct dt_function_stats *f = row[i].s;
		char marks[512];

		print_times(r, o, &row[i]);
		printf("  %s", row[i].name);
		dt_reasons_print(reasons, f->function);
		dt_marks_of_function(f, marks, sizeof(marks));
		puts(marks);
	}
	if (!n)
		puts(o->failed
			     ? "no call is known to have failed; that is known of functions with a "
			       "prototype, and of traces since 2026-11-27"
		     : o->choice.filter ? "no call is one that -f means"
					: "no calls");
	print_held(r, o);
	print_others(o);
	if (o->subtract)
		dt_table_costs(r);
}

static void print_json(const struct dt_reader *r, const struct report *o,
		       struct dt_reasons *reasons, const struct dt_stats_row *row, size_t n)
{
	double ns = dt_reader_ns_per_tick(r);

	puts("[");
	for (size_t i = 0; i < n && (!o->rows || i < o->rows); i++) {
		const struct dt_function_stats *f = row[i].s;
		const struct dt_function_info *info = dt_reader_function(r, f->function);
		const struct dt_module_info *m = info ? dt_reader_module(r, info->module) : NULL;

		printf("%s {\"function\": ", i ? ",\n" : "");
		dt_table_json(info ? info->name : "?");
		printf(", \"module\": ");
		dt_table_json(m ? m->path : "");
		printf(", \"file\": ");
		dt_table_json(info ? info->file : "");
		printf(", \"line\": %u, \"calls\": %llu, \"timed\": %llu, \"unwound\": %llu, "
		       "\"tail\": %llu, \"unfinished\": %llu, \"entries_only\": %llu, \"exits_without_entry\": %llu, "
		       "\"with_losses\": %llu, \"over_a_pause\": %llu, \"backward\": %llu",
		       info ? info->line : 0, (unsigned long long)f->calls,
		       (unsigned long long)f->timed, (unsigned long long)f->unwound,
		       (unsigned long long)f->tail, (unsigned long long)f->open,
		       (unsigned long long)f->no_exit, (unsigned long long)f->no_entry,
		       (unsigned long long)f->loss, (unsigned long long)f->paused,
		       (unsigned long long)f->backward);
		if (f->timed)
			printf(", \"total\": %.1f, \"self\": %.1f, \"avg\": %.1f, \"min\": %.1f, "
			       "\"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f",
			       (double)f->total * ns, (double)f->self * ns,
			       (double)f->sum / (double)f->timed * ns, (double)f->min * ns,
			       (double)dt_stats_quantile(f, 0.5) * ns,
			       (double)dt_stats_quantile(f, 0.99) * ns, (double)f->max * ns);
		if (o->failed)
			dt_reasons_json(reasons, f->function);
		if (f->timed && o->waits)
			printf(", \"cpu\": %.1f, \"wait\": %.1f, \"self_wait\": %.1f, "
			       "\"preempted\": %.1f",
			       (double)dt_stats_value(f, DT_STATS_CPU) * ns, (double)f->waited * ns,
			       (double)f->waited_self * ns, (double)f->preempted * ns);
		putchar('}');
	}
	if (held(o)) {
		const struct dt_function_stats *f = held(o);

		printf("%s {\"waiting for\": \"devtrace\", \"calls\": %llu, \"timed\": %llu, \"total\": %.1f, "
		       "\"self\": %.1f, \"avg\": %.1f, \"min\": %.1f, \"p50\": %.1f, \"p99\": %.1f, "
		       "\"max\": %.1f}",
		       n ? ",\n" : "", (unsigned long long)f->calls, (unsigned long long)f->timed,
		       (double)f->sum * ns, (double)f->sum * ns,
		       (double)f->sum / (double)f->timed * ns, (double)f->min * ns,
		       (double)dt_stats_quantile(f, 0.5) * ns,
		       (double)dt_stats_quantile(f, 0.99) * ns, (double)f->max * ns);
	}
	puts("\n]");
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	const struct report *o = ctx;

	dt_chosen_begin(&o->choice, c);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct report *o = ctx;
	uint32_t error;

	if (o->choice.filter && !dt_chosen_end(&o->choice, c))
		return;
	if (o->failed) {
		if (dt_failures_outcome(&o->failures, c->function, c->result, &error) !=
		    DT_OUTCOME_FAILED)
			return;
		dt_reasons_add(&o->reasons, c->function, error);
	}
	dt_stats_call(&o->stats, c);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct report *o = ctx;

	(void)depth;
	o->others[dt_reader_site(o->reader, s->site[i])->kind]++;
}

/* Reads the calls of the range. When it is all of the trace, its sums must add up, unless --anyway
 * was given. */
static int read_calls(struct dt_reader *r, struct report *o, const struct dt_reader_range *range,
		      const struct dt_pair_events *events, struct dt_error *e)
{
	struct dt_pair *p = dt_pair_new(r, events, range->values);
	uint64_t records = 0, total = 0;
	struct dt_summary sum;
	struct dt_span s;
	int rc;

	if (!p)
		return dt_fail(e, "out of memory");
	o->choice.pair = p;
	rc = dt_reader_start(r, range, e);
	if (!rc && !range->from && !range->to && !dt_reader_summary(r, &sum, NULL))
		total = sum.records;
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		records += s.n;
		o->choice.span = &s;
		rc = dt_pair_span(p, &s) ? dt_fail(e, "out of memory") : 0;
	}
	o->choice.span = NULL;
	if (!rc)
		rc = dt_pair_finish(p);
	if (!rc && o->choice.filter && dt_filter_failed(o->choice.filter))
		rc = dt_fail(e, "out of memory");
	if (!rc && !o->anyway)
		rc = dt_pair_sound(r, records, total, dt_pair_impossible(p), e);
	dt_pair_free(p);
	return rc;
}

/* What read_waits() reads. */
struct reading {
	struct report *o;
	const struct dt_reader_range *range;
};

static int read_waits(void *ctx, const struct dt_pair_events *events, struct dt_error *e)
{
	const struct reading *k = ctx;

	return read_calls(k->o->reader, k->o, k->range, events, e);
}

static int report(struct dt_reader *r, struct report *o)
{
	struct dt_pair_events events = {.end = on_end, .other = on_other, .ctx = o};
	double cost[256];
	struct dt_reader_range range = {.order = DT_BY_THREAD, .values = o->failed};
	struct dt_stats_row *row = NULL;
	struct dt_summary s;
	struct dt_error e;
	bool *shown = NULL;
	int status = 1;
	size_t n;

	o->reader = r;
	o->failures.meanings = dt_meanings_of(r);
	if (!dt_cmd_range(r, &o->when, &range) || (o->subtract && !dt_cmd_costs(r, cost))) {
		status = 2;
		goto out;
	}
	if (o->filter_text) {
		o->choice = (struct dt_choosing){.filter = dt_cmd_filter(r, o->filter_text),
						 .reader = r};
		if (!o->choice.filter) {
			status = 2;
			goto out;
		}
		events.begin = on_begin;
		range.values = range.values || dt_filter_needs_values(o->choice.filter);
	}
	if (o->subtract && o->choice.filter && dt_cmd_filter_has_text(o->choice.filter)) {
		status = 2;
		goto out;
	}
	if (o->left_out)
		return dt_left_out_table(r, &o->select, o->rows, o->json);
	if (o->waiting) {
		struct reading k = {o, &range};

		return dt_report_waits(r, read_waits, &k, &o->select, o->rows, o->json);
	}
	events.cost = o->subtract ? cost : NULL;
	if (read_calls(r, o, &range, &events, &e)) {
		dt_cmd_fail("%s", e.text);
		goto out;
	}
	dt_reasons_sort(&o->reasons);
	o->waits = dt_feed_has_switches(r);
	if (o->key >= DT_STATS_CPU && !dt_cmd_switches(r))
		goto out;
	/* waits before the first record are not in the times that are shown */
	if (!dt_reader_summary(r, &s, NULL))
		o->from = range.from > s.min_ticks ? range.from : s.min_ticks;
	o->to = range.to ? range.to : UINT64_MAX;
	dt_reader_helds(r, on_held, o);
	shown = dt_cmd_shown(r, &o->select);
	row = shown && !o->stats.no_memory && !o->failures.no_memory && !o->reasons.no_memory
		      ? make_rows(r, o, &o->stats, shown, &n)
		      : NULL;
	if (!row) {
		dt_cmd_fail("out of memory");
		goto out;
	}
	if (o->json)
		print_json(r, o, &o->reasons, row, n);
	else
		print_table(r, o, &o->reasons, row, n);
	dt_cmd_unhooked(r, shown, NULL);
	dt_cmd_say_left_out(r);
	status = fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table") : 0;
	if (o->rows && n > o->rows)
		dt_cmd_fail("note: %zu more functions have calls: without -n all are shown",
			    n - (size_t)o->rows);
out:
	free(row);
	free(shown);
	dt_stats_free(&o->stats);
	dt_stats_free(&o->held);
	dt_cmd_filter_free(o->choice.filter);
	dt_failures_free(&o->failures);
	dt_reasons_free(&o->reasons);
	return status;
}

static bool parse_key(const char *text, enum dt_stats_key *key)
{
	for (*key = 0; *key < DT_STATS_KEYS; ++*key)
		if (!strcmp(text, key_name[*key]))
			return true;
	dt_cmd_fail("cannot sort by '%s'; keys are total, self, calls, avg, min, p50, p99, max, "
		    "unwound, tail, name, cpu, wait, selfwait",
		    text);
	return false;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct report *o)
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
						{"anyway", no_argument, NULL, 5},
						{"failed", no_argument, NULL, 6},
						{"waits", no_argument, NULL, 7},
						{"live", no_argument, NULL, 8},
						{"left-out", no_argument, NULL, 9},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct dt_error e;
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "s:n:F:N:f:h", options, NULL)) != -1) {
		switch (c) {
		case 's':
			if (!parse_key(optarg, &o->key))
				return 2;
			break;
		case 'n':
			o->rows = strtoull(optarg, &end, 10);
			if (*end || !o->rows || optarg[0] == '-') {
				dt_cmd_fail("'%s' is not a number of rows", optarg);
				return 2;
			}
			break;
		case 'F':
		case 'N':
			if (dt_selection_add(&o->select, optarg, c == 'N', &e)) {
				dt_cmd_fail("%s", e.text);
				return 2;
			}
			break;
		case 'f':
			o->filter_text = optarg;
			break;
		case 1:
			o->when.from = optarg;
			break;
		case 2:
			o->when.to = optarg;
			break;
		case 3:
			o->json = true;
			break;
		case 4:
			o->subtract = true;
			break;
		case 5:
			o->anyway = true;
			break;
		case 6:
			o->failed = true;
			break;
		case 7:
			o->waiting = true;
			break;
		case 8:
			o->live = true;
			break;
		case 9:
			o->left_out = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("report");
		}
	}
	return -1;
}

/* Says which options do not go together. Returns 2, or -1 if all do. */
static int refuse(const struct report *o)
{
	if (o->live &&
	    (o->key != DT_STATS_TOTAL || o->rows || o->json || o->subtract || o->anyway ||
	     o->failed || o->waiting || o->when.from || o->when.to || o->filter_text))
		dt_cmd_fail("report: --live goes with -F and -N only");
	else if (o->left_out && (o->key != DT_STATS_TOTAL || o->subtract || o->failed ||
				 o->waiting || o->when.from || o->when.to || o->filter_text))
		dt_cmd_fail(
			"report: --left-out goes with -F, -N, -n and --json only: of calls that "
			"are left out there are only sums");
	else if (o->waiting &&
		 (o->key != DT_STATS_TOTAL || o->subtract || o->failed || o->filter_text))
		dt_cmd_fail("report: --waits does not go with -s, -f, --subtract and --failed");
	else
		return -1;
	return 2;
}

/* Shows the table of a trace that grows. */
static int show_live(const struct report *o, const char *path)
{
	struct dt_top t = {.path = path, .title = path, .show = o->select, .recorder = -1};

	return dt_top_show(&t);
}

int dt_cmd_report(int argc, char **argv)
{
	struct report o = {0};
	struct dt_reader *r;
	int status = parse(argc, argv, &o);

	if (status < 0)
		status = refuse(&o);
	if (status < 0 && o.live) {
		status = optind + 1 < argc
				 ? dt_cmd_usage("report")
				 : show_live(&o, optind < argc ? argv[optind] : DT_DEFAULT_FILE);
	} else if (status < 0) {
		r = dt_cmd_open(argc, argv, "report", NULL, &status);
		if (r) {
			status = report(r, &o);
			dt_cmd_say_lost(r);
			dt_reader_close(r);
		}
	}
	dt_selection_clear(&o.select);
	return status;
}
