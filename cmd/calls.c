/* SPDX-License-Identifier: MIT */
/*
 * devtrace calls: the tree of calls. A call's line is written as soon as something has to be
 * written inside it, and then ends with "{"; if nothing is, the call gets a single line when it
 * ends. So only the open calls are held in memory, and a minimum duration needs no look-ahead.
 */
#include "cmd/calls-work.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "analyse/feed.h"
#include "analyse/meanings.h"
#include "cmd/commands.h"
#include "fleet/fleet.h"
#include "cmd/one-trace.h"
#include "cmd/unmet.h"

static const char help[] =
	"usage: devtrace calls [OPTION]... [FILE]\n"
	"Prints the tree of calls in a trace, with durations, arguments and results; one thread\n"
	"after the other.\n"
	"\n"
	"  -F, --function PAT     show only functions that match the shell pattern, and the\n"
	"                         events in them\n"
	"  -N, --no-function PAT  do not show those\n"
	"      --failed           only calls that failed: a line for each, with the reason\n"
	"  -f, --filter WORDS     only calls that these words mean: a line for each\n"
	"  -B, --backtrace        with --failed, -f: also the calls that they were made in; and the\n"
	"                         stacks that record --backtrace has kept\n"
	"      --last N           with --failed, -f: if there are more than twice as many, the last\n"
	"                         N come first, then all\n"
	"  -t, --time TIME        only calls that took at least TIME (10us, 1.5ms, 2000 ticks)\n"
	"  -D, --depth N          at most N levels of shown calls\n"
	"      --thread TID       only this thread; may be given several times\n"
	"      --merge            all threads in the order of time, with a column for the thread\n"
	"      --subtract         durations without what recording cost\n"
	"      --tail-calls       of calls of libraries (record -l), also those that one of the\n"
	"                         functions makes by a jump (malloc in realloc)\n"
	"      --from TIME        begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME          end there\n"
	"  -O, --fields LIST      the columns: time, since, elapsed, duration, self, cpu, wait, core,\n"
	"                         thread, name, process, program, module, depth; +LIST: these\n"
	"                         before the usual ones; none\n"
	"      --units UNIT       auto (default at a terminal), ns, us (default), ms, s\n"
	"      --json             JSON lines, for programs: devtrace-json(5)\n"
	"      --header, --no-header  with, without a line that names the columns (default: at a\n"
	"                         terminal, and with --fields)\n" DT_TERMINAL_HELP
	"  -h, --help             show this\n"
	"\n"
	"A duration is on the line that ends a call. Marked are calls that ended unwound (by\n"
	"longjmp, an exception, an exit), in a tail call, or not at all, calls that were entered\n"
	"before the trace began, and those with records lost meanwhile.\n"
	"FILE is devtrace.db when not given.\n";

#define KEPT_IN_MEMORY (192u << 20) /* bytes of lines that wait for their thread's turn */

/* ---- events ---- */

bool dt_calls_is_new_shown(struct calls *k, uint32_t function)
{
	free(k->shown);
	k->functions = dt_reader_functions(k->reader) + 1;
	k->shown = dt_cmd_shown(k->reader, &k->select);
	if (!k->shown)
		k->functions = 0;
	return function < k->functions && k->shown[function];
}

/* Returns the note of a call that begins now. */
static inline uint32_t new_note(struct calls *k, const uint32_t *caller, uint32_t function)
{
	uint32_t level = dt_calls_next_level(caller);

	return level << LEVEL_SHIFT |
	       (dt_calls_is_shown(k, function) && level < k->depth ? SHOWN : 0);
}

/* For dt_pair_callers(): collects the callers whose lines are still to be written. */
static bool collect(void *ctx, const struct dt_call *c)
{
	struct calls *k = ctx;

	if (*c->note & OPENED)
		return false;
	if (!(*c->note & SHOWN)) {
		*c->note |= OPENED;
		return true;
	}
	if (k->waiting_n == k->waiting_size) {
		size_t size = k->waiting_size ? 2 * k->waiting_size : 64;
		const struct dt_call **p = realloc(k->waiting, size * sizeof(*p));

		if (!p) {
			k->failed = true;
			return false;
		}
		k->waiting = p;
		k->waiting_size = size;
	}
	k->waiting[k->waiting_n++] = c;
	return true;
}

/* Writes the lines of the calls around the current one that have not been written. */
void dt_calls_open_callers(struct calls *k, struct output *to, uint32_t tid)
{
	const uint32_t *caller = dt_pair_caller_note(k->pair);

	if (!caller || *caller & OPENED || k->single)
		return;
	k->waiting_n = 0;
	dt_pair_callers(k->pair, collect, k);
	while (k->waiting_n) {
		const struct dt_call *c = k->waiting[--k->waiting_n];

		dt_calls_line(k, to, DT_KEPT_OPEN, c, tid, LEVEL(*c->note));
		*c->note |= OPENED;
	}
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct calls *k = ctx;
	const uint32_t *caller = dt_pair_caller_note(k->pair);

	*c->note = new_note(k, caller, c->function);
	if (__builtin_expect(k->missed.n != 0, 0)) {
		dt_calls_missed_until(k, c->tid, c->begin);
		if (dt_missed_has(&k->missed, c->function))
			k->called[c->function] = true;
	}
	if (k->choice.filter)
		dt_chosen_begin(&k->choice, c);
	if (*c->note & SHOWN && !k->late && caller && !(*caller & OPENED)) {
		struct output *to = dt_calls_output(k, c->tid);

		if (to)
			dt_calls_open_callers(k, to, c->tid);
	}
}

/* Says whether a call that has ended is one of those that are wanted. */
static bool is_wanted(struct calls *k, const struct dt_call *c)
{
	uint32_t error;

	if (k->min &&
	    (c->flags & (DT_CALL_NO_ENTRY | DT_CALL_NO_EXIT) || dt_call_ticks(c) < k->min))
		return false;
	if (k->choice.filter && !dt_chosen_end(&k->choice, c))
		return false;
	return !k->only_failed || dt_failures_outcome(&k->failures, c->function, c->result,
						      &error) == DT_OUTCOME_FAILED;
}

static void end_call(struct calls *k, const struct dt_call *c)
{
	uint32_t note = c->note ? *c->note : new_note(k, dt_pair_caller_note(k->pair), c->function);
	struct output *to;

	if (!(note & SHOWN))
		return;
	if (!(note & OPENED) && k->late && !is_wanted(k, c))
		return;
	to = dt_calls_output(k, c->tid);
	if (!to)
		return;
	if (note & OPENED) {
		dt_calls_line(k, to, DT_KEPT_CLOSE, c, c->tid, LEVEL(note));
		if (k->backtraces.n)
			dt_calls_stack(k, to, c, c->tid, LEVEL(note));
		return;
	}
	k->met = true;
	if (k->late || !c->note) /* otherwise on_begin() has opened them */
		dt_calls_open_callers(k, to, c->tid);
	if (k->last.most)
		dt_calls_remember(k, c);
	dt_calls_line(k, to, DT_KEPT_WHOLE, c, c->tid, k->single ? 0 : LEVEL(note));
	if (k->backtraces.n)
		dt_calls_stack(k, to, c, c->tid, LEVEL(note));
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct calls *k = ctx;

	end_call(k, c);
	if (__builtin_expect(k->missed.n != 0, 0))
		dt_calls_missed_until(k, c->tid, c->end);
	if (__builtin_expect(k->fulls.n != 0, 0))
		dt_full_forget(&k->fulls, c->id);
}

/* ---- the command ---- */

static int on_pause(void *ctx, const struct dt_pause *p)
{
	struct calls *k = ctx;

	if (p->end > k->resumed)
		k->resumed = p->end;
	return 0;
}

/* Reads the stacks that were kept. Returns 0, or the exit status. */
static int load_stacks(struct calls *k)
{
	struct dt_error e = {""};

	if (dt_backtraces_load(&k->backtraces, k->reader, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	if (k->only_failed || k->choice.filter || k->backtraces.n)
		return 0;
	dt_cmd_fail("-B shows in which calls others were made: it needs --failed or -f, or a trace "
		    "that was recorded with --backtrace");
	return 2;
}

/* Makes what lines are made with. False: out of memory. */
static bool make_output(struct calls *k, const struct dt_pair_events *events)
{
	k->ns_per_tick_32 = (uint64_t)(dt_reader_ns_per_tick(k->reader) * 4294967296.0 + 0.5);
	dt_calls_short_durations(k);
	k->formats.reader = k->reader;
	k->switches = dt_feed_switches_asked(k->reader);
	k->keep = (struct dt_keep){.fd = -1, .memory_max = KEPT_IN_MEMORY};
	bool own = !k->out;

	if (own)
		k->out = malloc(sizeof(*k->out));
	k->texts.fn = dt_calls_on_text;
	k->texts.ctx = k;
	k->hits = (struct dt_whole_hits){.formats = &k->formats, .fn = dt_calls_on_hit, .ctx = k};
	k->pair = dt_pair_new(k->reader, events, true);
	if (!k->pair || !k->out) {
		dt_pair_free(k->pair);
		return false;
	}
	if (k->tail_calls)
		dt_pair_unfold(k->pair);
	k->choice.pair = k->pair;
	if (!own)
		return true;
	k->out->fd = STDOUT_FILENO;
	k->out->file = NULL;
	k->out->n = 0;
	k->out->failed = false;
	if (k->header)
		dt_calls_print_header(k);
	return true;
}

int dt_calls_begin(struct calls *k, struct dt_reader_range *range)
{
	struct dt_pair_events events = {.begin = on_begin,
					.end = on_end,
					.loss = dt_calls_on_loss,
					.other = dt_calls_on_other,
					.ctx = k,
					.cost = k->subtract ? k->cost : NULL};
	struct dt_error e = {""};
	int rc;

	*range = (struct dt_reader_range){.order = k->merge ? DT_BY_TIME : DT_BY_THREAD,
					  .values = true};
	k->merged = DT_NO_TID;
	if (!dt_cmd_range(k->reader, &k->when, range) ||
	    (k->subtract && !dt_cmd_costs(k->reader, k->cost)) ||
	    (k->min_text && !dt_cmd_duration(k->reader, k->min_text, &k->min)))
		return 2;
	k->choice.reader = k->reader;
	if (k->filter_text && !(k->choice.filter = dt_cmd_filter(k->reader, k->filter_text)))
		return 2;
	if (k->filter_text)
		dt_cmd_unmet_filter(k->reader, k->choice.filter);
	/* of a fleet, another host may have it */
	if (!k->host && dt_cmd_unmet_threads(k->reader, k->thread, k->threads))
		return 1;
	if (k->filter_text && k->subtract && dt_cmd_filter_has_text(k->choice.filter))
		return 2;
	if (k->backtrace && (rc = load_stacks(k)))
		return rc;
	if ((rc = dt_calls_fields_begin(&k->fields, k->reader, k->merge)) ||
	    (rc = dt_calls_json_begin(k)))
		return rc;
	k->made = k->fields.list.chosen || k->json;
	k->together = k->merge && !k->json;
	k->late = k->min || k->only_failed || k->choice.filter;
	k->single = (k->only_failed || k->choice.filter) && !k->backtrace;
	k->failures.meanings = dt_meanings_of(k->reader);
	k->until = range->to ? range->to : UINT64_MAX;
	/* among calls that were chosen one by one, nothing is said of others */
	if (!k->late && dt_calls_missed_begin(k, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	if (dt_reader_pauses(k->reader, on_pause, k) < 0)
		return dt_cmd_fail("the pauses in the file can not be read");
	return make_output(k, &events) ? 0 : dt_cmd_fail("out of memory");
}

void dt_calls_let_go(struct calls *k)
{
	if (k->merged != DT_NO_TID && k->to && !k->late) {
		dt_pair_look(k->pair, k->merged);
		dt_calls_open_callers(k, k->to, k->merged);
	}
}

int dt_calls_take(struct calls *k, struct dt_span *s, struct dt_error *e)
{
	if (s->n && !dt_calls_wants(k, s->tid) && !dt_pair_unwanted(k->pair, s))
		return 0;
	/* with --merge, lines of a thread must not wait while another thread goes on */
	if (k->merge && !k->late && s->n && s->tid != k->merged) {
		dt_calls_let_go(k);
		k->merged = s->tid;
	}
	k->choice.span = s;
	return dt_pair_span(k->pair, s) || (k->choice.filter && dt_filter_failed(k->choice.filter))
		       ? dt_fail(e, "out of memory")
		       : 0;
}

int dt_calls_end(struct calls *k, int rc, struct dt_error *e)
{
	k->choice.span = NULL;
	k->ending = true;
	dt_texts_end(&k->texts);
	dt_whole_hits_end(&k->hits);
	k->failed |= k->hits.failed;
	if (!rc)
		dt_pair_finish(k->pair);
	dt_pair_free(k->pair);
	dt_fulls_free(&k->fulls);
	if (k->failures.no_memory && !rc)
		rc = dt_fail(e, "out of memory");
	dt_failures_free(&k->failures);
	if (dt_calls_print_kept(k))
		return 1;
	return rc ? dt_cmd_fail("%s", e->text) : 0;
}

static int run(struct calls *k)
{
	struct dt_reader_range range;
	struct dt_error e = {""};
	struct dt_span s;
	int rc = dt_calls_begin(k, &range);

	if (rc)
		return rc;
	rc = dt_reader_start(k->reader, &range, &e);
	while (!rc && !k->failed && (rc = dt_reader_next(k->reader, &s, &e)) > 0) {
		rc = 0;
		if (k->out->failed || k->keep.failed)
			break;
		rc = dt_calls_take(k, &s, &e);
	}
	return dt_calls_end(k, rc, &e);
}

static bool parse_number(const char *text, const char *what, uint32_t *v)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*v = (uint32_t)n;
	if (text[0] >= '0' && text[0] <= '9' && !*end && n < UINT32_MAX)
		return true;
	dt_cmd_fail("'%s' is not a %s", text, what);
	return false;
}

static bool add_thread(struct calls *k, const char *text)
{
	uint32_t *p = realloc(k->thread, (k->threads + 1) * sizeof(*p));

	if (!p)
		return false;
	k->thread = p;
	return parse_number(text, "thread id", &p[k->threads++]);
}

/* Says which options do not go together. Returns 2, or -1 if all do. */
static int refuse(const struct calls *k)
{
	if (k->last.most > 10000 || (k->last.most && k->backtrace) ||
	    (k->last.most && !k->only_failed && !k->filter_text)) {
		dt_cmd_fail("--last is a number up to 10000, with --failed or -f, and without -B");
		return 2;
	}
	if (k->as_json && (k->fields.list.chosen || k->units_said || k->header)) {
		dt_cmd_fail("%s is of the text: JSON lines have all fields, and nanoseconds",
			    k->fields.list.chosen ? "--fields"
			    : k->units_said	  ? "--units"
						  : "--header");
		return 2;
	}
	if (k->as_json && k->last.most) {
		dt_cmd_fail(
			"--last is of the text: JSON lines are in the order in which calls end, "
			"tail -n %u has the last",
			k->last.most);
		return 2;
	}
	return -1;
}

/* Takes an option without a choice of calls. False: it is none of these. *status >= 0: it is wrong,
 * which has been reported; exit with that. */
static bool take_form(struct calls *k, int c, int *status)
{
	switch (c) {
	case 4:
		return k->merge = true;
	case 5:
		return k->subtract = true;
	case 11:
		return k->as_json = true;
	case 6:
		return k->only_failed = true;
	case 12:
		return k->tail_calls = true;
	case 'B':
		return k->backtrace = true;
	case 'O':
		*status = dt_calls_fields_parse(&k->fields, optarg) ? -1 : 2;
		return true;
	case 8:
		k->units_said = true;
		*status = dt_calls_units_parse(&k->units, optarg) ? -1 : 2;
		return true;
	case 9:
	case 10:
		k->header = c == 9;
		k->no_header = c == 10;
		return true;
	default:
		return dt_terminal_option(&k->terminal, c, status);
	}
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct calls *k)
{
	static const struct option options[] = {{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"time", required_argument, NULL, 't'},
						{"depth", required_argument, NULL, 'D'},
						{"filter", required_argument, NULL, 'f'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"thread", required_argument, NULL, 3},
						{"merge", no_argument, NULL, 4},
						{"subtract", no_argument, NULL, 5},
						{"failed", no_argument, NULL, 6},
						{"last", required_argument, NULL, 7},
						{"backtrace", no_argument, NULL, 'B'},
						{"fields", required_argument, NULL, 'O'},
						{"units", required_argument, NULL, 8},
						{"header", no_argument, NULL, 9},
						{"no-header", no_argument, NULL, 10},
						{"json", no_argument, NULL, 11},
						{"tail-calls", no_argument, NULL, 12},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct dt_error e;
	int c, status = -1;

	/* `devtrace PROG` calls this after it has parsed options of its own */
	optind = 0;
	while ((c = getopt_long(argc, argv, "F:N:f:t:D:BO:h", options, NULL)) != -1) {
		switch (c) {
		case 'F':
		case 'N':
			if (dt_selection_add(&k->select, optarg, c == 'N', &e)) {
				dt_cmd_fail("%s", e.text);
				return 2;
			}
			break;
		case 't':
			k->min_text = optarg;
			break;
		case 'f':
			k->filter_text = optarg;
			break;
		case 'D':
			if (!parse_number(optarg, "depth", &k->depth))
				return 2;
			break;
		case 1:
			k->when.from = optarg;
			break;
		case 2:
			k->when.to = optarg;
			break;
		case 3:
			if (!add_thread(k, optarg))
				return 2;
			break;
		case 7:
			if (!parse_number(optarg, "number of lines", &k->last.most))
				return 2;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			if (!take_form(k, c, &status))
				return dt_cmd_usage("calls");
			if (status >= 0)
				return status;
		}
	}
	return refuse(k);
}

/* Chooses what is different at a terminal: what a person reads there, and no script. */
static void begin_output(struct calls *k)
{
	if (k->as_json) /* colours and a terminal's width are not for programs */
		return;
	dt_terminal_begin(&k->terminal, true);
	tzset(); /* reads a file */
	if (!k->units_said && k->terminal.is)
		k->units = DT_UNITS_AUTO;
	if (!k->no_header)
		k->header |= k->terminal.is || k->fields.list.chosen;
}

bool dt_calls_can_print(const char *fields, const char *units, bool switches)
{
	struct dt_calls_fields f;
	enum dt_calls_units u;

	if ((fields && !dt_calls_fields_parse(&f, fields)) ||
	    (units && !dt_calls_units_parse(&u, units)))
		return false;
	if (!fields || switches ||
	    !(dt_fields_has(&f.list, DT_FIELD_CPU) || dt_fields_has(&f.list, DT_FIELD_WAIT)))
		return true;
	dt_cmd_fail("--fields %s: cpu and wait need -S, which records switches", fields);
	return false;
}

void dt_calls_free(struct calls *k)
{
	dt_cmd_filter_free(k->choice.filter);
	dt_formats_free(&k->formats);
	dt_last_lines_free(&k->last);
	dt_backtraces_free(&k->backtraces);
	dt_calls_missed_free(k);
	free(k->shown);
	free(k->waiting);
	free(k->duration);
	dt_calls_json_free(k);
}

void dt_calls_say_none(const struct calls *k)
{
	if (!k->met && (k->only_failed || k->filter_text))
		dt_cmd_fail("note: %s", k->filter_text ? dt_cmd_none_meant : dt_cmd_none_failed);
}

/* Says what the calls that were printed lack, or that there are none. */
static void say_others(struct calls *k, int status)
{
	if (status == 2)
		return;
	if (!status)
		dt_calls_say_none(k);
	free(k->shown); /* make it anew, for all functions that there are by now */
	k->shown = dt_cmd_shown(k->reader, &k->select);
	dt_cmd_unhooked(k->reader, k->shown, NULL);
}

int dt_cmd_calls(int argc, char **argv)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct calls k = {.depth = UINT32_MAX};
	int status = parse(argc, argv, &k);

	if (status < 0) {
		begin_output(&k);
		/* JSON lines are those of one trace of all */
		if (argc - optind == 1 && dt_fleet_is(argv[optind]) && !k.as_json)
			status = dt_calls_fleet(&k, argv[optind]);
		else
			k.reader = dt_cmd_open_one(argc, argv, "calls", &needs, &status);
		if (k.reader) {
			status = run(&k);
			dt_cmd_say_lost(k.reader, status);
			say_others(&k, status);
			if (!status && dt_cmd_unmet_patterns(k.reader, &k.select))
				status = 1;
			dt_reader_close(k.reader);
		}
	}
	dt_selection_clear(&k.select);
	dt_calls_free(&k);
	free(k.thread);
	free(k.out);
	return status;
}
