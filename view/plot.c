/* SPDX-License-Identifier: MIT */
/* Values over time: of the calls of a function, of an event, or what a process used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/plot.h"
#include "analyse/usage.h"
#include "view/asked.h"

#define KEPT	8    /* plots of a picture that are kept: those used last */
#define SECONDS 0.25 /* then the answer is what is known, and how much that is */

struct dt_plots {
	struct dt_plot *plot[KEPT];
	uint64_t used[KEPT], clock;
	struct dt_usages usages;
};

void dt_plots_free(struct dt_plots *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < KEPT; i++)
		dt_plot_free(l->plot[i]);
	dt_usages_free(&l->usages);
	free(l);
}

/* NULL: out of memory. */
static struct dt_plots *plots_of(struct dt_picture *p)
{
	return p->plots ? p->plots : (p->plots = calloc(1, sizeof(*p->plots)));
}

static struct dt_plot *plot_of(struct dt_picture *p, uint32_t function, enum dt_plot_what what,
			       unsigned index)
{
	struct dt_plots *l = plots_of(p);
	unsigned at = 0;

	if (!l)
		return NULL;
	for (unsigned i = 0; i < KEPT; i++) {
		if (l->plot[i] && dt_plot_is(l->plot[i], function, what, index)) {
			l->used[i] = ++l->clock;
			return l->plot[i];
		}
		if (l->used[i] < l->used[at])
			at = i;
	}
	dt_plot_free(l->plot[at]);
	l->plot[at] = dt_plot_new(dt_windows_reader(p->windows), function, what, index);
	l->used[at] = ++l->clock;
	return l->plot[at];
}

/* Adds a number; one that is whole with all its digits. */
static void number(struct dt_json *out, long double v)
{
	if (v == roundl(v) && fabsl(v) < 1e19L)
		dt_json_print(out, ",%.0Lf", v);
	else
		dt_json_print(out, ",%.17Lg", v);
}

/* Adds the columns as [begin, end, calls, with a number, least, greatest, mean]. */
static void say(struct dt_asked *a, const struct dt_plot_asked *x, bool ticks)
{
	struct dt_json *out = &a->answer->text;

	dt_json_print(out, "{\"ticks\":%s,\"even\":%s,\"done\":%.4f,\"partly\":%s,\"columns\":[",
		      ticks ? "true" : "false", x->even ? "true" : "false", x->done,
		      a->p->pyramid->complete ? "false" : "true");
	for (unsigned k = 0; k < x->n; k++) {
		const struct dt_plot_cell *c = &x->column[k];

		dt_json_print(out, "%s[%lu,%lu,%lu,%lu", k ? "," : "",
			      (unsigned long)(c->begin - a->origin),
			      (unsigned long)(c->end - a->origin), (unsigned long)c->calls,
			      (unsigned long)c->n);
		if (c->n) {
			number(out, c->min);
			number(out, c->max);
			dt_json_print(out, ",%.17Lg", c->sum / (long double)c->n);
		}
		dt_json_print(out, "]");
	}
	dt_json_print(out, "]}");
}

static bool what_of(struct dt_asked *a, enum dt_plot_what *what, unsigned *index)
{
	const char *text = a->r->value(a->r->ctx, "what");

	*index = 0;
	if (text && !strcmp(text, "duration")) {
		*what = DT_PLOT_DURATION;
	} else if (text && !strcmp(text, "result")) {
		*what = DT_PLOT_RESULT;
	} else if (text && !strncmp(text, "arg", 3) && text[3] >= '1' && text[3] <= '9' &&
		   !text[4]) {
		*what = DT_PLOT_ARGUMENT;
		*index = (unsigned)(text[3] - '1');
	} else {
		dt_refuse(a, 400, "what: duration, result, or arg1 to arg9 is wanted");
		return false;
	}
	return true;
}

static void plot_function(struct dt_asked *a, struct dt_plot_asked *x)
{
	struct dt_error e = {"out of memory"};
	enum dt_plot_what what;
	struct dt_plot *g;
	uint64_t function;
	unsigned index;

	if (!dt_asked_number(a, "function", 1, UINT32_MAX, &function) || !what_of(a, &what, &index))
		return;
	if (!dt_reader_function(dt_windows_reader(a->p->windows), (uint32_t)function)) {
		dt_refuse(a, 404, "there is no such function");
		return;
	}
	g = plot_of(a->p, (uint32_t)function, what, index);
	if (!g || dt_plot_read(g, a->p->windows, x, &e) < 0)
		dt_refuse(a, 500, e.text);
	else
		say(a, x, what == DT_PLOT_DURATION);
}

static void plot_process(struct dt_asked *a, struct dt_plot_asked *x)
{
	struct dt_reader *r = dt_windows_reader(a->p->windows);
	const char *text = a->r->value(a->r->ctx, "what");
	struct dt_plots *l = plots_of(a->p);
	struct dt_error e = {"out of memory"};
	bool memory = text && !strcmp(text, "memory");
	uint64_t process;

	if (!dt_asked_number(a, "process", 1, UINT32_MAX, &process))
		return;
	if (!memory && (!text || strcmp(text, "processors") != 0)) {
		dt_refuse(a, 400, "what: memory or processors is wanted");
		return;
	}
	if (!l || dt_usages_load(&l->usages, r, &e) < 0) {
		dt_refuse(a, 500, e.text);
		return;
	}
	dt_usage_plot(&l->usages, (uint32_t)process, memory ? DT_USAGE_MEMORY : DT_USAGE_PROCESSORS,
		      dt_reader_ns_per_tick(r), x);
	/* a process is read before its first record, where the page's time begins */
	for (unsigned i = 0; i < x->n; i++)
		if (x->column[i].begin < a->origin)
			x->column[i].begin = a->origin;
	say(a, x, false);
}

/* An event's values, which the pyramid has: of cells that are a power of two wide, and without a
 * mean. */
static void plot_track(struct dt_asked *a, struct dt_plot_asked *x, uint32_t track)
{
	struct dt_window w = {
		.from = x->from, .to = x->to, .shift = dt_window_shift(x->from, x->to, x->columns)};
	struct dt_json *out = &a->answer->text;
	struct dt_bar_list bars = {0};
	struct dt_error e = {""};

	if (dt_window_bars(a->p->windows, track, &w, &bars, &e) < 0) {
		dt_refuse(a, 500, e.text);
		free(bars.bar);
		return;
	}
	dt_json_print(out, "{\"ticks\":false,\"even\":true,\"done\":1,\"partly\":%s,\"columns\":[",
		      a->p->pyramid->complete ? "false" : "true");
	for (size_t i = 0; i < bars.n; i++)
		dt_json_print(out, "%s[%lu,%lu,%lu,%lu,%lu,%lu]", i ? "," : "",
			      (unsigned long)(bars.bar[i].begin - a->origin),
			      (unsigned long)(bars.bar[i].end - a->origin),
			      (unsigned long)bars.bar[i].count, (unsigned long)bars.bar[i].count,
			      (unsigned long)bars.bar[i].low, (unsigned long)bars.bar[i].high);
	dt_json_print(out, "]}");
	free(bars.bar);
}

void dt_answer_plot(struct dt_asked *a)
{
	const struct dt_pyramid *p = a->p->pyramid;
	struct dt_plot_asked *x = calloc(1, sizeof(*x));
	uint64_t columns, track;

	if (!x) {
		dt_refuse(a, 500, "out of memory");
		return;
	}
	x->seconds = SECONDS;
	if (!dt_asked_range(a, &x->from, &x->to) ||
	    !dt_asked_number(a, "columns", 1, DT_PLOT_COLUMNS, &columns))
		goto out;
	x->columns = (unsigned)columns;
	if (a->r->value(a->r->ctx, "process"))
		plot_process(a, x);
	else if (!a->r->value(a->r->ctx, "track"))
		plot_function(a, x);
	else if (!dt_asked_number(a, "track", 0, UINT32_MAX, &track))
		goto out;
	else if (track >= p->tracks ||
		 (p->track[track].kind != DT_TRACK_EVENT && p->track[track].kind != DT_TRACK_POINT))
		dt_refuse(a, 404, "there is no such event");
	else
		plot_track(a, x, (uint32_t)track);
out:
	free(x);
}
