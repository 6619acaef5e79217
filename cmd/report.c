/* SPDX-License-Identifier: MIT */
/* devtrace report: a table of functions and of the times of their calls. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyse/meanings.h"
#include "analyse/feed.h"
#include "analyse/parts.h"
#include "cmd/commands.h"
#include "cmd/budget.h"
#include "cmd/left-out.h"
#include "cmd/one-trace.h"
#include "cmd/report-waits.h"
#include "cmd/report-work.h"
#include "fleet/fleet.h"
#include "cmd/top.h"
#include "cmd/unmet.h"

static const char help[] =
	"usage: devtrace report [OPTION]... [FILE]\n"
	"Prints a table of the functions in a trace: how often each was called and how long\n"
	"its calls took.\n"
	"\n"
	"  -s, --sort KEY       total (default), self, calls, avg, stddev, min, p50, p90, p95, p99,\n"
	"                       p99.9, max, unwound, tail or name; cpu, wait or selfwait\n"
	"  -O, --fields LIST    the columns: those that can be sorted by, but unwound, tail and name;\n"
	"                       +LIST: these before the usual ones; none\n"
	"      --by LIST        a row for each function, caller, thread, process, module, host, or\n"
	"                       several of these with commas between\n"
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
	"      --budget         when functions were off to keep to record --budget, and how many\n"
	"                       calls they are thought to have made then\n"
	"      --left-out       the sums of calls that record --filter has left out\n"
	"      --live           of a trace that is being recorded: once a second, until q or a signal (see\n"
	"                       devtrace top, which also attaches)\n"
	"      --json           as JSON, an object a line: doc/json.md\n"
	"      --subtract       times without what recording cost, as it was measured when the\n"
	"                       recording began; says how much that is\n"
	"      --tail-calls     of calls of libraries (record -l), also those that one of the functions\n"
	"                       makes by a jump (malloc in realloc); otherwise they are a part of it\n"
	"      --anyway         also of a trace that does not add up\n" DT_JOBS_HELP
		DT_TERMINAL_HELP "  -h, --help           show this\n"
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

static const char *const key_name[DT_STATS_KEYS] = {
	[DT_STATS_TOTAL] = "total",	[DT_STATS_SELF] = "self",
	[DT_STATS_CALLS] = "calls",	[DT_STATS_AVG] = "avg",
	[DT_STATS_STDDEV] = "stddev",	[DT_STATS_MIN] = "min",
	[DT_STATS_P50] = "p50",		[DT_STATS_P90] = "p90",
	[DT_STATS_P95] = "p95",		[DT_STATS_P99] = "p99",
	[DT_STATS_P999] = "p99.9",	[DT_STATS_MAX] = "max",
	[DT_STATS_UNWOUND] = "unwound", [DT_STATS_TAIL] = "tail",
	[DT_STATS_NAME] = "name",	[DT_STATS_CPU] = "cpu",
	[DT_STATS_WAIT] = "wait",	[DT_STATS_SELFWAIT] = "selfwait"};

static void free_rows(const struct report *o, struct dt_stats_row *row, size_t n)
{
	for (size_t i = 0; row && o->groups.keys && i < n; i++)
		free((char *)(uintptr_t)row[i].name);
	free(row);
}

/* Returns the name of a group, as rows with equal keys are sorted by it; the caller frees it. */
static char *group_name(const struct report *o, uint32_t group)
{
	char all[4096] = "", text[1024];
	size_t n = 0;

	for (unsigned i = 0; i < o->groups.keys && n < sizeof(all); i++) {
		dt_report_part(o, group, (enum dt_group_key)o->groups.key[i], text, sizeof(text));
		n += dt_format(all + n, sizeof(all) - n, "%s ", text);
	}
	return strdup(all);
}

static struct dt_stats_row *make_rows(const struct report *o, size_t *n)
{
	const struct dt_stats *s = &o->stats;
	struct dt_stats_row *row = calloc(s->functions + 1, sizeof(*row));

	*n = 0;
	for (uint32_t i = 0; row && i < s->functions; i++) {
		const struct dt_function_stats *f = &s->function[i];

		const char *name;

		if ((!f->calls && !f->no_entry) || (!o->groups.keys && !o->shown[i]))
			continue;
		name = o->groups.keys ? group_name(o, i) : dt_reader_function_name(o->reader, i);
		if (!name) {
			free_rows(o, row, *n);
			return NULL;
		}
		row[(*n)++] = (struct dt_stats_row){f, name, dt_stats_value(f, o->key)};
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

/* ---- calls ---- */

/* Says whether a function is one that is reported. */
static bool is_shown(struct report *o, uint32_t function)
{
	if (function >= o->functions) {
		free(o->shown);
		o->functions = dt_reader_functions(o->reader) + 1;
		o->shown = dt_cmd_shown(o->reader, &o->select);
		if (!o->shown)
			o->functions = 0;
	}
	return function < o->functions && o->shown[function];
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct report *o = ctx;

	if (o->choice.filter)
		dt_chosen_begin(&o->choice, c);
	if (o->groups.keys && is_shown(o, c->function))
		dt_groups_begin(&o->groups, o->pair, c);
}

/* Says whether a call that has ended is one of those that are wanted; *error: why it failed. */
static bool is_wanted(struct report *o, const struct dt_call *c, uint32_t *error)
{
	if (o->choice.filter && !dt_chosen_end(&o->choice, c))
		return false;
	return !o->failed || dt_failures_outcome(&o->failures, c->function, c->result, error) ==
				     DT_OUTCOME_FAILED;
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct report *o = ctx;
	struct dt_call sum;
	uint32_t error = 0;

	if (o->groups.keys) {
		if (!is_shown(o, c->function))
			return;
		/* also of a call that is not wanted: it ends those that are open */
		sum = dt_groups_end(&o->groups, o->pair, c);
	}
	if (!is_wanted(o, c, &error))
		return;
	c = o->groups.keys ? &sum : c;
	if (o->failed)
		dt_reasons_add(&o->reasons, c->function, error);
	dt_stats_call(&o->stats, c);
	dt_report_run_call(&o->run, c);
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
	o->choice.pair = o->pair = p;
	if (o->tail_calls)
		dt_pair_unfold(p);
	rc = dt_reader_start(r, range, e);
	if (!rc && !range->from && !range->to && !dt_reader_summary(r, &sum, NULL))
		total = sum.records;
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		records += s.n;
		o->choice.span = &s;
		dt_report_run_span(&o->run, &s);
		rc = dt_pair_span(p, &s) ? dt_fail(e, "out of memory") : 0;
	}
	o->choice.span = NULL;
	if (!rc)
		rc = dt_pair_finish(p);
	if (!rc && o->choice.filter && dt_filter_failed(o->choice.filter))
		rc = dt_fail(e, "out of memory");
	if (!rc && !o->anyway)
		rc = dt_pair_sound(r, records, total, dt_pair_impossible(p), e);
	o->folded += dt_pair_folded(p);
	dt_pair_free(p);
	return rc;
}

/* ---- on several cores ---- */

/* The sums of a part of the trace. */
struct part_sums {
	struct dt_stats stats;
	uint64_t others[256];
	struct dt_reader *reader;
};

static void *new_sums(void *ctx, struct dt_reader *r)
{
	struct part_sums *s = calloc(1, sizeof(*s));

	(void)ctx;
	if (s)
		s->reader = r;
	return s;
}

static void on_part_end(void *ctx, const struct dt_call *c)
{
	struct part_sums *s = ctx;

	dt_stats_call(&s->stats, c);
}

static void on_part_other(void *ctx, const struct dt_span *span, uint32_t i, uint32_t depth)
{
	struct part_sums *s = ctx;

	(void)depth;
	s->others[dt_reader_site(s->reader, span->site[i])->kind]++;
}

static void on_recursive(void *ctx, uint32_t function, uint64_t ticks)
{
	struct part_sums *s = ctx;

	dt_stats_recursive(&s->stats, function, ticks);
}

static void add_sums(void *ctx, void *sums)
{
	struct report *o = ctx;
	struct part_sums *s = sums;

	if (s->stats.no_memory || dt_stats_merge(&o->stats, &s->stats))
		o->stats.no_memory = true;
	for (size_t i = 0; i < 256; i++)
		o->others[i] += s->others[i];
}

static void free_sums(void *sums)
{
	struct part_sums *s = sums;

	dt_stats_free(&s->stats);
	free(s);
}

/* Returns on how many threads the calls are to be read; 1: also if what is reported needs them in
 * the order of time. */
static unsigned threads_for(struct report *o, const struct dt_reader_range *range,
			    const struct dt_pair_events *events, uint64_t records)
{
	if (events->begin || events->cost || o->failed || o->run.wanted || range->from ||
	    range->to || dt_pair_may_fold(o->reader))
		return 1;
	return dt_parts_threads(o->reader, dt_jobs_for(&o->jobs, records));
}

static int read_parts(struct dt_reader *r, struct report *o, unsigned threads, uint64_t total,
		      const struct dt_pair_events *events, struct dt_error *e)
{
	struct dt_parts k = {.reader = r,
			     .threads = threads,
			     .length = dt_parts_length(threads, total),
			     .events = *events,
			     .new = new_sums,
			     .end = on_part_end,
			     .other = on_part_other,
			     .recursive = on_recursive,
			     .add = add_sums,
			     .free = free_sums};

	if (dt_parts_run(&k, e))
		return -1;
	return o->anyway ? 0 : dt_pair_sound(r, k.records, total, k.impossible, e);
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

/* Reads what is reported. Returns 0, or the exit status after reporting an error. */
static int read_all(struct report *o, const struct dt_reader_range *range, const double *cost)
{
	struct dt_pair_events events = {
		.end = on_end, .other = on_other, .ctx = o, .cost = o->subtract ? cost : NULL};
	struct dt_reader *r = o->reader;
	struct dt_summary s;
	struct dt_error e;
	unsigned threads;

	if (o->choice.filter || o->groups.keys)
		events.begin = on_begin;
	o->groups.reader = r;
	if (dt_reader_summary(r, &s, NULL))
		s.records = 0;
	threads = threads_for(o, range, &events, s.records);
	if (threads > 1 ? read_parts(r, o, threads, s.records, &events, &e)
			: read_calls(r, o, range, &events, &e))
		return dt_cmd_fail("%s", e.text);
	dt_reasons_sort(&o->reasons);
	o->waits = dt_feed_has_switches(r);
	if ((o->key >= DT_STATS_CPU || dt_fields_has(&o->fields, DT_REPORT_CPU) ||
	     dt_fields_has(&o->fields, DT_REPORT_WAIT) ||
	     dt_fields_has(&o->fields, DT_REPORT_SELFWAIT)) &&
	    !dt_cmd_switches(r))
		return 1;
	/* waits before the first record are not in the times that are shown */
	if (!dt_reader_summary(r, &s, NULL))
		o->from = range->from > s.min_ticks ? range->from : s.min_ticks;
	o->to = range->to ? range->to : UINT64_MAX;
	/* of those that were missed, it is not known which a filter means */
	if (!o->groups.keys && !o->choice.filter && !o->failed &&
	    dt_missed_read(&o->missed, r, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	dt_reader_helds(r, on_held, o);
	free(o->shown);
	o->shown = dt_cmd_shown(r, &o->select);
	if (!o->shown || o->stats.no_memory || o->failures.no_memory || o->reasons.no_memory ||
	    o->groups.no_memory)
		return dt_cmd_fail("out of memory");
	return 0;
}

static int print(struct report *o)
{
	size_t n;
	struct dt_stats_row *row = make_rows(o, &n);
	int status;

	if (!row)
		return dt_cmd_fail("out of memory");
	if (o->json)
		dt_report_print_json(o, row, n);
	else
		dt_report_print_table(o, row, n);
	status = fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table") : 0;
	dt_cmd_unhooked(o->reader, o->shown, NULL);
	if (o->folded)
		dt_cmd_say_folded(o->folded, true);
	if (o->rows && n > o->rows)
		dt_cmd_fail("note: %zu more %s have calls: without -n all are shown",
			    n - (size_t)o->rows, o->groups.keys ? "groups" : "functions");
	if (o->groups.crowded)
		dt_cmd_fail("note: there are more than %u groups; %llu calls are in (others)",
			    DT_GROUPS_MOST - 1, (unsigned long long)o->groups.crowded);
	free_rows(o, row, n);
	return status;
}

/* Are all calls of libraries in the table, and no others, so that the rest is the program's own
 * time? */
static bool has_whole_run(const struct dt_reader *r, const struct report *o)
{
	const char *calls = dt_reader_meta(r, "calls");

	return calls && !strcmp(calls, "libraries") && !o->filter_text && !o->groups.keys &&
	       !o->select.n && !o->failed && !o->subtract && !o->when.from && !o->when.to;
}

/* Makes ready for reading. Returns 0, or the exit status after reporting an error. */
static int prepare(struct dt_reader *r, struct report *o, struct dt_reader_range *range,
		   double *cost)
{
	o->reader = r;
	if (dt_hosts_load(&o->hosts, r))
		return dt_cmd_fail("out of memory");
	o->groups.hosts = o->hosts.n ? &o->hosts : NULL;
	o->failures.meanings = dt_meanings_of(r);
	o->run.wanted = has_whole_run(r, o);
	if (!dt_cmd_range(r, &o->when, range) || (o->subtract && !dt_cmd_costs(r, cost)))
		return 2;
	if (!o->fleet && dt_cmd_unmet_patterns(r, &o->select))
		return 1;
	if (o->filter_text) {
		o->choice = (struct dt_choosing){.filter = dt_cmd_filter(r, o->filter_text),
						 .reader = r};
		if (!o->choice.filter)
			return 2;
		dt_cmd_unmet_filter(r, o->choice.filter);
		range->values = range->values || dt_filter_needs_values(o->choice.filter);
	}
	return o->subtract && o->choice.filter && dt_cmd_filter_has_text(o->choice.filter) ? 2 : 0;
}

void dt_report_free(struct report *o)
{
	free(o->shown);
	dt_stats_free(&o->stats);
	dt_stats_free(&o->held);
	dt_report_run_free(&o->run);
	dt_cmd_filter_free(o->choice.filter);
	dt_failures_free(&o->failures);
	dt_reasons_free(&o->reasons);
	dt_groups_free(&o->groups);
	dt_hosts_free(&o->hosts);
	dt_missed_free(&o->missed);
}

int dt_report_read(struct dt_reader *r, struct report *o, struct dt_stats_row **row, size_t *n)
{
	struct dt_reader_range range = {.order = DT_BY_THREAD, .values = o->failed};
	double cost[256];
	int status = prepare(r, o, &range, cost);

	if (!status)
		status = dt_report_can_group(o) ? read_all(o, &range, cost) : 1;
	if (status)
		return status;
	*row = make_rows(o, n);
	return *row ? 0 : dt_cmd_fail("out of memory");
}

void dt_report_free_rows(const struct report *o, struct dt_stats_row *row, size_t n)
{
	free_rows(o, row, n);
}

static int report(struct dt_reader *r, struct report *o)
{
	struct dt_reader_range range = {.order = DT_BY_THREAD, .values = o->failed};
	double cost[256];
	int status = prepare(r, o, &range, cost);

	if (status)
		;
	else if (o->left_out) {
		status = dt_left_out_table(r, &o->select, o->rows, o->json);
	} else if (o->budget) {
		status = dt_budget_table(r, &o->select, o->rows, o->json);
	} else if (o->waiting) {
		struct reading k = {o, &range};

		status = dt_report_waits(r, read_waits, &k, &o->select, o->rows, o->json,
					 o->terminal.columns);
	} else if (!dt_report_can_group(o)) {
		status = 1;
	} else {
		status = read_all(o, &range, cost);
		status = status ? status : print(o);
	}
	dt_report_free(o);
	return status;
}

static bool parse_key(const char *text, enum dt_stats_key *key)
{
	for (*key = 0; *key < DT_STATS_KEYS; ++*key)
		if (!strcmp(text, key_name[*key]))
			return true;
	dt_cmd_fail("cannot sort by '%s'; keys are total, self, calls, avg, stddev, min, p50, p90, "
		    "p95, p99, p99.9, max, unwound, tail, name, cpu, wait, selfwait",
		    text);
	return false;
}

/* Takes an option about what is read and how it is shown. False: it is none of these. *status >= 0:
 * it is wrong, which has been reported; exit with that. */
static bool take_form(struct report *o, int c, int *status)
{
	bool *const flag[] = {
		[3] = &o->json,	   [4] = &o->subtract, [5] = &o->anyway,  [6] = &o->failed,
		[7] = &o->waiting, [8] = &o->live,     [9] = &o->left_out};

	switch (c) {
	case 'f':
		o->filter_text = optarg;
		return true;
	case 1:
		o->when.from = optarg;
		return true;
	case 2:
		o->when.to = optarg;
		return true;
	case 11:
		return o->budget = true;
	case 12:
		return o->tail_calls = true;
	case 10:
		*status = dt_report_by(&o->groups, optarg) ? -1 : 2;
		return true;
	case 'O':
		*status = dt_report_fields(&o->fields, optarg) ? -1 : 2;
		return true;
	default:
		if (c < 3 || c > 9)
			return dt_terminal_option(&o->terminal, c, status);
		return *flag[c] = true;
	}
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
						{"budget", no_argument, NULL, 11},
						{"tail-calls", no_argument, NULL, 12},
						{"by", required_argument, NULL, 10},
						{"fields", required_argument, NULL, 'O'},
						{"jobs", required_argument, NULL, 'j'},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct dt_error e;
	int c, status = -1;
	char *end;

	while ((c = getopt_long(argc, argv, "s:n:F:N:f:O:j:h", options, NULL)) != -1) {
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
		case 'j':
			if (!dt_jobs_parse(&o->jobs, optarg))
				return 2;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			if (!take_form(o, c, &status))
				return dt_cmd_usage("report");
			if (status >= 0)
				return status;
		}
	}
	return -1;
}

/* Says which options do not go together. Returns 2, or -1 if all do. */
static int refuse(const struct report *o)
{
	bool form = o->groups.keys || o->fields.chosen;

	if (o->live &&
	    (o->key != DT_STATS_TOTAL || o->rows || o->subtract || o->anyway || o->failed ||
	     o->waiting || o->when.from || o->when.to || o->filter_text || form))
		dt_cmd_fail("--live goes with -F, -N and --json only");
	else if ((o->left_out || o->budget) &&
		 (o->key != DT_STATS_TOTAL || o->subtract || o->failed || o->waiting ||
		  o->when.from || o->when.to || o->filter_text || form))
		dt_cmd_fail("%s goes with -F, -N, -n and --json only: of calls that "
			    "are left out there are only sums",
			    o->budget ? "--budget" : "--left-out");
	else if (o->waiting &&
		 (o->key != DT_STATS_TOTAL || o->subtract || o->failed || o->filter_text || form))
		dt_cmd_fail("--waits does not go with -s, -f, --subtract, --failed, --by "
			    "and --fields");
	else if (o->fields.chosen && o->json)
		dt_cmd_fail("--fields is of the table: --json has all fields");
	else
		return -1;
	return 2;
}

/* Shows the table of a trace that grows. */
static int show_live(const struct report *o, const char *path)
{
	struct dt_top t = {.path = path,
			   .title = path,
			   .show = o->select,
			   .recorder = -1,
			   .json = o->json,
			   .terminal = o->terminal};

	return dt_top_show(&t);
}

bool dt_report_can_print(const char *fields)
{
	struct dt_fields f;

	return !fields || dt_report_fields(&f, fields);
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
		dt_terminal_listing(&o.terminal, !o.json);
		/* what its own table has not is read from one trace of all */
		if (argc - optind == 1 && dt_fleet_is(argv[optind]) && dt_report_fleet_can(&o))
			status = dt_report_fleet(&o, argv[optind]);
		else if ((r = dt_cmd_open_one(argc, argv, "report", NULL, &status))) {
			status = report(r, &o);
			dt_cmd_say_lost(r, status);
			if (status != 2)
				dt_cmd_say_waits(r);
			dt_reader_close(r);
		}
	}
	dt_selection_clear(&o.select);
	return status;
}
