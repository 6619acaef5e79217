/* SPDX-License-Identifier: MIT */
/* libdevtrace: a trace's calls. Pairing hands them out as it meets their ends; they are kept until
 * the caller has taken them, those of one span of records at a time. */
#include "library/calls-work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/meanings.h"
#include "analyse/text-matches.h"

/* ---- pairing ---- */

static uint16_t core_of(const struct devtrace_calls *c, const struct dt_call *x)
{
	const struct dt_span *s = &c->span;

	_Static_assert(DEVTRACE_NO_CORE == DT_SHARED_CORE, "cores that are not known are equal");
	return x->flags & DT_CALL_OPEN ? DEVTRACE_NO_CORE : dt_span_core_at(s, x->end);
}

static struct row *new_row(struct devtrace_calls *c)
{
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 1024;
		struct row *more = realloc(c->row, room * sizeof(*more));

		if (!more) {
			c->failed = true;
			return NULL;
		}
		c->row = more;
		c->room = room;
	}
	return &c->row[c->n++];
}

static void on_begin(void *ctx, const struct dt_call *x)
{
	const struct devtrace_calls *c = ctx;

	dt_chosen_begin(&c->choosing, x);
}

static void on_end(void *ctx, const struct dt_call *x)
{
	struct devtrace_calls *c = ctx;
	struct row *r;

	if (c->choosing.filter && !dt_chosen_end(&c->choosing, x)) {
		if (c->further.fulls.n)
			dt_full_forget(&c->further.fulls, x->id);
		return;
	}
	r = new_row(c);
	if (!r)
		return;
	r->call = *x;
	r->call.note = NULL;
	if (x->argument)
		memcpy(r->argument, x->argument, sizeof(r->argument));
	if (x->result)
		memcpy(r->result, x->result, sizeof(r->result));
	r->full = c->further.fulls.n ? dt_full_take(&c->further.fulls, x->id) : (struct dt_full){0};
	r->core = core_of(c, x);
}

static void forget_rows(struct devtrace_calls *c)
{
	for (size_t i = 0; c->choice.flags & DEVTRACE_TEXTS && i < c->n; i++)
		free(c->row[i].full.text);
	c->first = c->n = 0;
	c->current = NULL;
}

static void note(struct devtrace_calls *c)
{
	const char *name = NULL, *pattern;

	if (!c->choosing.filter)
		return;
	if (dt_filter_no_name(c->choosing.filter, &name, &pattern))
		dt_format(c->note, sizeof(c->note),
			  "no function that was met has a constant '%s' for '%s'", pattern, name);
	else if ((name = dt_text_matches_missing(c->choosing.filter)))
		dt_format(
			c->note, sizeof(c->note),
			"the trace has no text of an argument called '%s': -l and -A of `devtrace "
			"record' record texts",
			name);
}

/* Pairs one more span. */
static int read_span(struct devtrace_calls *c)
{
	int rc = dt_reader_next(c->reader, &c->span, &c->why);

	if (rc < 0)
		return -1;
	c->choosing.span = rc ? &c->span : NULL;
	if (!rc) {
		dt_further_end(&c->further);
		c->ended = true;
		dt_pair_finish(c->pair);
		note(c);
	} else if (dt_pair_span(c->pair, &c->span)) {
		c->failed = true;
	}
	if (c->failed || (c->choosing.filter && dt_filter_failed(c->choosing.filter)))
		return dt_fail(&c->why, "out of memory");
	return 0;
}

int dt_library_calls_more(struct devtrace_calls *c)
{
	if (c->first < c->n)
		return 1;
	forget_rows(c);
	while (!c->n && !c->ended && !c->failed)
		if (read_span(c) < 0)
			c->failed = true;
	/* what was paired before an error is handed out no more: it may be of damaged records */
	return c->failed ? -1 : c->n != 0;
}

/* ---- a call ---- */

uint8_t dt_library_calls_known(const struct devtrace_calls *c, uint32_t site)
{
	const struct dt_site *s = dt_reader_site(c->reader, site);

	return s ? s->mask & 0xf : 0;
}

uint32_t dt_library_calls_process(struct devtrace_calls *c, uint32_t tid)
{
	const struct dt_thread_info *t;

	if (tid == DT_NO_TID)
		return DEVTRACE_NONE;
	if (tid != c->tid || c->pid == DEVTRACE_NONE) {
		t = dt_reader_thread(c->reader, tid);
		c->tid = tid;
		c->pid = t ? t->pid : DEVTRACE_NONE;
	}
	return c->pid;
}

int64_t dt_library_calls_begin(const struct devtrace_calls *c, const struct dt_call *x)
{
	return x->flags & DT_CALL_NO_ENTRY ? DEVTRACE_UNKNOWN
					   : dt_library_ns(c->reader, c->first_ns, x->begin);
}

int64_t dt_library_calls_end(const struct devtrace_calls *c, const struct dt_call *x)
{
	return x->flags & DT_CALL_NO_EXIT ? DEVTRACE_UNKNOWN
					  : dt_library_ns(c->reader, c->first_ns, x->end);
}

double dt_library_calls_duration(const struct devtrace_calls *c, const struct dt_call *x)
{
	return x->flags & (DT_CALL_NO_ENTRY | DT_CALL_NO_EXIT)
		       ? (double)NAN
		       : (double)dt_call_ticks(x) * c->ns_per_tick;
}

double dt_library_calls_self(const struct devtrace_calls *c, const struct dt_call *x)
{
	uint64_t took = dt_call_ticks(x);

	return x->flags & (DT_CALL_NO_ENTRY | DT_CALL_NO_EXIT)
		       ? (double)NAN
		       : (double)(took > x->children ? took - x->children : 0) * c->ns_per_tick;
}

static void fill_call(struct devtrace_calls *c, const struct row *r)
{
	const struct dt_call *x = &r->call;
	struct devtrace_call *to = &c->call;

	*to = (struct devtrace_call){.id = x->id,
				     .parent = x->parent,
				     .begin_ticks = x->begin,
				     .end_ticks = x->end,
				     .begin_ns = dt_library_calls_begin(c, x),
				     .end_ns = dt_library_calls_end(c, x),
				     .duration_ns = dt_library_calls_duration(c, x),
				     .self_ns = dt_library_calls_self(c, x),
				     .thread = x->tid,
				     .process = dt_library_calls_process(c, x->tid),
				     .function = x->function,
				     .depth = x->depth,
				     .flags = x->flags,
				     .core = r->core};
	if (x->argument) {
		to->arguments = dt_library_calls_known(c, x->entry);
		memcpy(to->argument, r->argument, sizeof(to->argument));
	}
	if (x->result) {
		to->results = dt_library_calls_known(c, x->exit);
		memcpy(to->result, r->result, sizeof(to->result));
	}
}

PUBLIC int devtrace_calls_next(struct devtrace_calls *c, const struct devtrace_call **call,
			       struct devtrace_error *e)
{
	int rc = dt_library_calls_more(c);

	*call = NULL;
	if (rc < 0)
		return dt_library_fail(e, &c->why);
	if (!rc)
		return 0;
	c->current = &c->row[c->first++];
	fill_call(c, c->current);
	*call = &c->call;
	return 1;
}

PUBLIC const char *devtrace_ended(uint32_t flags)
{
	return dt_call_ended(&(struct dt_call){.flags = flags});
}

PUBLIC const char *devtrace_calls_note(struct devtrace_calls *c)
{
	return c->note;
}

/* ---- the pass ---- */

static int start(struct devtrace_calls *c, struct devtrace *t, const struct devtrace_choice *choice,
		 struct dt_error *e)
{
	struct dt_pair_events events = {.end = on_end, .ctx = c};
	struct dt_reader_range range;

	if (dt_library_choice(choice, &c->choice, &range, e))
		return -1;
	c->reader = dt_reader_again(t->reader, e);
	if (!c->reader)
		return -1;
	c->first_ns = dt_reader_ns(c->reader, t->summary.min_ticks);
	c->ns_per_tick = dt_reader_ns_per_tick(c->reader);
	c->pid = DEVTRACE_NONE;
	c->formats.reader = c->choosing.reader = c->reader;
	c->formats.plain = !(c->choice.flags & DEVTRACE_POINTER_NAMES);
	if (c->choice.filter) {
		struct dt_error why = {""};

		c->choosing.filter = dt_meanings_filter(c->choice.filter, c->reader, &why);
		if (!c->choosing.filter)
			return dt_fail(e, "the filter '%s': %s", c->choice.filter, why.text);
		events.begin = on_begin;
		range.values |= dt_filter_needs_values(c->choosing.filter);
	}
	c->choice.filter = NULL; /* it is the caller's */
	if (c->choice.flags & DEVTRACE_TEXTS)
		events.other = dt_library_calls_on_other;
	c->pair = dt_pair_new(c->reader, &events, range.values);
	if (!c->pair)
		return dt_fail(e, "out of memory");
	dt_further_begin(&c->further, c->reader, &c->formats, c->pair);
	c->choosing.pair = c->pair;
	return dt_reader_start(c->reader, &range, e);
}

PUBLIC struct devtrace_calls *devtrace_calls_begin(struct devtrace *t,
						   const struct devtrace_choice *choice,
						   struct devtrace_error *e)
{
	struct devtrace_calls *c = calloc(1, sizeof(*c));
	struct dt_error why = {""};

	if (!c)
		dt_fail(&why, "out of memory");
	else if (start(c, t, choice, &why) == 0)
		return c;
	devtrace_calls_end(c);
	dt_library_fail(e, &why);
	return NULL;
}

PUBLIC void devtrace_calls_end(struct devtrace_calls *c)
{
	if (!c)
		return;
	forget_rows(c);
	free(c->row);
	dt_pair_free(c->pair);
	dt_filter_free(c->choosing.filter);
	dt_library_calls_free_texts(c);
	dt_library_calls_forget_texts(c);
	dt_reader_close(c->reader);
	free(c);
}
