/* SPDX-License-Identifier: MIT */
/* Opening a trace, and reading times and patterns from the command line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyse/meanings.h"
#include "analyse/text-matches.h"
#include "analyse/feed.h"
#include "cmd/open.h"

#include "cmd/commands.h"
#include "cmd/meant.h"
#include "core/plain.h"
#include "store/lost-switches.h"
#include "store/budget.h"
#include "store/left-out.h"

int dt_cmd_fail(const char *format, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		dt_plain_cut(text, true);
	/* what answers in the language says so itself */
	fprintf(stderr, "%s%s\n", text && strncmp(text, "devtrace: ", 10) == 0 ? "" : "devtrace: ",
		text ? text : "out of memory");
	free(text);
	return 1;
}

const char *dt_cmd_plain(const char *s)
{
	static _Thread_local char *kept[8];
	static _Thread_local unsigned next;
	size_t n, plain;
	char *to;

	if (dt_plain_is(s))
		return s;
	n = strlen(s);
	plain = dt_plain(NULL, s, n);
	to = realloc(kept[next % 8], plain + 1);
	if (!to)
		return "?";
	kept[next++ % 8] = to;
	dt_plain(to, s, n);
	to[plain] = '\0';
	return to;
}

int dt_cmd_usage(const char *name)
{
	fprintf(stderr, "Try `devtrace%s%s --help`.%s\n", *name ? " " : "", name,
		dt_cmd_meant_hint());
	return 2;
}

int dt_cmd_confine(struct dt_needs *needs)
{
	struct dt_error e;

	if (needs->done)
		return 0;
	if (!needs->temporary[0])
		dt_needs_temporary(needs);
	return dt_confine(needs, &e) < 0 ? dt_cmd_fail("%s", e.text) : 0;
}

struct dt_reader *dt_cmd_open(int argc, char **argv, const char *usage, struct dt_needs *needs,
			      int *status)
{
	const char *path = optind < argc ? argv[optind] : DT_DEFAULT_FILE;
	struct dt_needs none = {.n = 0};
	struct dt_error e;
	struct dt_reader *r;

	if (argc - optind > 1) {
		dt_cmd_fail("one trace file at a time, not also '%s'", argv[optind + 1]);
		*status = dt_cmd_usage(usage);
		return NULL;
	}
	needs = needs ? needs : &none;
	if (!needs->done)
		dt_needs_add(needs, DT_NEED_TRACE, path);
	*status = dt_cmd_confine(needs);
	if (*status)
		return NULL;
	r = dt_reader_open(path, &e);
	*status = r ? 0 : dt_cmd_fail("%s%s", e.text, dt_cmd_meant_hint());
	return r;
}

static bool parse_duration(const struct dt_reader *r, const char *text, double *ticks, bool *unit)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"ticks", 0}, {"", 0}};
	char *end;
	double v = strtod(text, &end);

	*unit = false;
	if (end != text)
		end += strspn(end, " ");
	for (size_t i = 0; end != text && v >= 0 && v < 1e18 && i < sizeof(units) / sizeof(*units);
	     i++) {
		if (strcmp(end, units[i].name))
			continue;
		*unit = units[i].ns > 0;
		*ticks = *unit ? v * units[i].ns / dt_reader_ns_per_tick(r) : v;
		return true;
	}
	dt_cmd_fail("'%s' is not a time; say for example 10us, 1.5ms, 2s, or a number of ticks",
		    text);
	return false;
}

bool dt_cmd_duration(const struct dt_reader *r, const char *text, uint64_t *ticks)
{
	double v;
	bool unit;

	if (!parse_duration(r, text, &v, &unit))
		return false;
	*ticks = unit ? (uint64_t)(v + 0.5) : strtoull(text, NULL, 10);
	return true;
}

bool dt_cmd_time(struct dt_reader *r, const char *text, uint64_t *ticks)
{
	struct dt_summary sum;
	struct dt_error e;
	double v;
	bool unit;

	if (!parse_duration(r, text, &v, &unit))
		return false;
	if (!unit) {
		*ticks = strtoull(text, NULL, 10);
		return true;
	}
	if (dt_reader_summary(r, &sum, &e)) {
		dt_cmd_fail("%s", e.text);
		return false;
	}
	*ticks = sum.min_ticks + (uint64_t)(v + 0.5);
	return true;
}

bool dt_cmd_range_refuse(const struct dt_range_options *o)
{
	dt_cmd_fail("--from %s is after --to %s: nothing is between", o->from, o->to);
	return false;
}

bool dt_cmd_range(struct dt_reader *r, const struct dt_range_options *o,
		  struct dt_reader_range *range)
{
	if ((o->from && !dt_cmd_time(r, o->from, &range->from)) ||
	    (o->to && !dt_cmd_time(r, o->to, &range->to)))
		return false;
	if (!o->from || !o->to || range->from <= range->to)
		return true;
	return dt_cmd_range_refuse(o);
}

struct dt_filter *dt_cmd_filter(struct dt_reader *r, const char *words)
{
	struct dt_error e;
	struct dt_filter *f = dt_meanings_filter(words, r, &e);

	if (!f)
		dt_cmd_fail("-f: %s", e.text);
	return f;
}

bool dt_cmd_filter_has_text(const struct dt_filter *f)
{
	const char *name, *pattern;

	if (!dt_filter_text(f, 0, &name, &pattern))
		return false;
	dt_cmd_fail("--subtract does not go with a condition on a text (%s=%s): by their times "
		    "calls are known again",
		    name, pattern);
	return true;
}

void dt_cmd_filter_free(struct dt_filter *f)
{
	const char *name = f ? dt_text_matches_missing(f) : NULL, *pattern;

	if (f && dt_filter_no_name(f, &name, &pattern))
		dt_cmd_fail("note: no function that was met has a constant '%s' for '%s'", pattern,
			    name);
	else if (name)
		dt_cmd_fail("note: the trace has no text of an argument called '%s': -l and -A "
			    "record texts",
			    name);
	dt_filter_free(f);
}

const char dt_cmd_none_failed[] =
	"no call is known to have failed; that is known of functions with a "
	"prototype, and of traces since 2026-11-27";
const char dt_cmd_none_meant[] = "no call is one that -f means";

void dt_cmd_say_filtered(uint64_t taken, uint64_t all)
{
	if (taken != all)
		dt_cmd_fail("note: -f leaves out %llu of %llu calls",
			    (unsigned long long)(all - taken), (unsigned long long)all);
}

void dt_cmd_say_folded(uint64_t n, bool shows)
{
	dt_cmd_fail("note: %llu call%s made by a jump (as realloc does of malloc) %s a part of the "
		    "call that made %s%s",
		    (unsigned long long)n, n == 1 ? "" : "s", n == 1 ? "is" : "are",
		    n == 1 ? "it" : "them",
		    shows ? "; with --tail-calls they have lines of their own" : "");
}

bool dt_cmd_switches(const struct dt_reader *r)
{
	const char *why;

	if (dt_feed_has_switches(r))
		return true;
	why = dt_reader_meta(r, "switches.end");
	dt_cmd_fail("no switches in this trace: %.400s", why ? why : "record with -S");
	return false;
}

bool *dt_cmd_shown(const struct dt_reader *r, struct dt_selection *s)
{
	uint32_t n = dt_reader_functions(r);
	bool *shown = calloc(n + 1, sizeof(*shown));

	if (!shown)
		return NULL;
	shown[0] = dt_selection_rest(s);
	for (uint32_t i = 1; i <= n; i++) {
		const struct dt_function_info *f = dt_reader_function(r, i);
		const struct dt_module_info *m = dt_reader_module(r, f->module);

		shown[i] =
			s->n == 0 || dt_selection_named(s, m ? m->called : "", f->name, f->others);
	}
	return shown;
}

static bool unhooked_said;

void dt_cmd_unhooked_said(void)
{
	unhooked_said = true;
}

void dt_cmd_unhooked(struct dt_reader *r, const bool *shown, const char *file)
{
	size_t said = 0, more = 0;

	for (uint32_t i = 1; shown && !unhooked_said && i <= dt_reader_functions(r); i++) {
		char names[160];
		size_t n = shown[i] ? dt_reader_unhooked(r, i, names, sizeof(names)) : 0;

		if (!n)
			continue;
		if (said == 5) {
			more++;
			continue;
		}
		said++;
		fprintf(stderr,
			"devtrace: %s%s%s: self time includes %zu function%s not hooked: %s\n",
			file ? file : "", file ? ": " : "", dt_reader_function_name(r, i), n,
			n == 1 ? "" : "s", dt_cmd_plain(names));
	}
	if (more)
		fprintf(stderr,
			"devtrace: %s%s%zu more functions call some that are not hooked: the table "
			"unhooked has all\n",
			file ? file : "", file ? ": " : "", more);
}

bool dt_cmd_cost(const struct dt_reader *r, const char *kind, struct dt_cmd_cost *c)
{
	const char *text;
	char key[32];

	dt_format(key, sizeof(key), "cost.%s", kind);
	text = dt_reader_meta(r, key);
	return text &&
	       sscanf(text, "%lf %lf %lf %lf %u", &c->median, &c->mean, &c->deviation, &c->interval,
		      &c->n) == 5 &&
	       c->median >= 0 && c->median < 1e9;
}

bool dt_cmd_costs(const struct dt_reader *r, double *cost)
{
	struct dt_cmd_cost entry, leave, point;

	if (dt_reader_meta(r, "budget")) {
		dt_cmd_fail(
			"--subtract: not of a recording with a budget, where functions were off "
			"at times: those times are on the other clock");
		return false;
	}
	if (!dt_cmd_cost(r, "entry", &entry) || !dt_cmd_cost(r, "exit", &leave)) {
		dt_cmd_fail(
			"the trace does not say what a record cost: it was imported, or made by an "
			"older devtrace");
		return false;
	}
	if (!dt_cmd_cost(r, "point", &point))
		point = entry;
	for (unsigned kind = 0; kind < 256; kind++)
		cost[kind] = 0; /* the kernel or the recorder makes these */
	cost[DT_ENTRY] = entry.median;
	cost[DT_EXIT] = leave.median;
	cost[DT_POINT] = cost[DT_MORE] = cost[DT_EVENT] = cost[DT_SEND] = cost[DT_RECEIVE] =
		point.median;
	return true;
}

/* Says where --last has cut the trace. */
static void say_pruned(const struct dt_reader *r)
{
	const char *text = dt_reader_meta(r, "pruned");
	unsigned long ticks, records;

	if (text && sscanf(text, "%lu %lu", &ticks, &records) == 2)
		dt_cmd_fail(
			"note: the trace begins where --last has cut it: %lu earlier records "
			"were removed while it was recorded; calls that were open then are seen "
			"to end only",
			records);
}

/* Says whether functions were off to keep to a budget. */
static void say_budget(struct dt_reader *r)
{
	struct dt_budget_sum sum;

	if (!dt_reader_meta(r, "budget"))
		return;
	dt_budget_sum(r, &sum);
	if (sum.times)
		dt_cmd_fail("note: %llu functions were off for part of the time (--budget), with "
			    "some %llu calls that are not in the trace; their time is in that of "
			    "their callers; report --budget has them",
			    (unsigned long long)sum.functions, (unsigned long long)sum.calls);
}

void dt_cmd_say_left_out(struct dt_reader *r)
{
	const char *words = dt_reader_meta(r, "filter"), *kept = dt_reader_meta(r, "filter_kept");
	uint64_t functions, calls = words ? dt_left_out_calls(r, &functions) : 0;
	char shown[256];

	say_pruned(r);
	say_budget(r);
	if (!calls)
		return;
	if (dt_reader_meta(r, "sums_only")) {
		dt_cmd_fail("note: %lu calls of %lu functions are not in the trace: they were "
			    "summed up (--sum) while it was recorded; `devtrace sum' has the sums, "
			    "report --left-out those by function",
			    (unsigned long)calls, (unsigned long)functions);
		return;
	}
	dt_format(shown, sizeof(shown), "%s", words);
	dt_plain_cut(shown, false);
	if (dt_reader_meta(r, "filter_whole"))
		dt_cmd_fail("note: threads that change their stacks (swapcontext) are in the trace "
			    "with all their calls of functions that --filter '%s' means",
			    shown);
	dt_cmd_fail("note: %lu calls of %lu functions are not in the trace: it was recorded with "
		    "--filter '%s'; report --left-out has their sums%s%s%s",
		    (unsigned long)calls, (unsigned long)functions, shown, kept ? ", and " : "",
		    kept ? kept : "",
		    kept ? " calls that were open for long are in the trace whatever they were"
			 : "");
}

/* Says how long a hypervisor had the processors, if it was more than a hundredth of the trace. */
static void say_stolen(struct dt_reader *r)
{
	const char *text = dt_reader_meta(r, "stolen_ns");
	double stolen = text ? (double)strtoull(text, NULL, 10) : 0;
	struct dt_summary s;

	if (stolen > 0 && !dt_reader_summary(r, &s, NULL) &&
	    100 * stolen >= (double)(s.max_ticks - s.min_ticks) * dt_reader_ns_per_tick(r))
		dt_cmd_fail(
			"note: a hypervisor had this machine's processors for %.3f ms, of all of "
			"them together, while this was recorded: the cpu of calls has what "
			"it took from them, since to the kernel they were on a processor",
			stolen / 1e6);
}

static void say_waits(struct dt_reader *r)
{
	const char *end = dt_reader_meta(r, "switches.end");
	struct dt_lost_switches lost = {0};
	struct dt_summary s;
	double ms;

	if (!dt_feed_has_switches(r))
		return;
	say_stolen(r);
	if (!dt_lost_switches_load(&lost, r) && !dt_reader_summary(r, &s, NULL) &&
	    dt_lost_switches_any(&lost)) {
		ms = (double)dt_lost_switches_between(&lost, s.min_ticks, s.max_ticks) *
		     dt_reader_ns_per_tick(r) / 1e6;
		if (end)
			dt_cmd_fail(
				"note: context switches are not known in %.3f ms of this trace, "
				"at its end: %.300s. What waited then is taken for cpu (marked "
				"by ~ where it is a call's)",
				ms, end);
		else
			dt_cmd_fail("note: context switches were lost in %.3f ms of this trace: "
				    "what waited then is taken for cpu (marked by ~ where it is a "
				    "call's); with a larger ulimit -l the kernel has more room for "
				    "them",
				    ms);
	}
	dt_lost_switches_free(&lost);
}

void dt_cmd_say_unseen(struct dt_reader *r)
{
	if (dt_feed_switches_asked(r))
		say_waits(r);
}

void dt_cmd_say_waits(struct dt_reader *r)
{
	if (!dt_feed_switches_asked(r))
		say_waits(r);
}

void dt_cmd_say_records_lost(struct dt_reader *r, int status)
{
	struct dt_summary s;

	if (status == 2)
		return;
	if (!dt_reader_summary(r, &s, NULL) && s.lost)
		dt_cmd_fail("note: %llu records were lost while this was recorded",
			    (unsigned long long)s.lost);
	dt_cmd_say_unseen(r);
}

void dt_cmd_say_lost(struct dt_reader *r, int status)
{
	dt_cmd_say_records_lost(r, status);
	if (status != 2)
		dt_cmd_say_left_out(r);
}
