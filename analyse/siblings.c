/* SPDX-License-Identifier: MIT */
/* The calls of one function, and the insides of one call. */
#include "analyse/siblings.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/reason.h"
#include "process/now.h"

static uint32_t first_row(const uint32_t *first, uint32_t rows, uint32_t function)
{
	return function < rows ? first[function] : function;
}

/* Puts what region r has of all functions into t, in place of what was there. */
static int load(const struct dt_pyramid *p, const struct dt_region *r, struct dt_bytes *scratch,
		struct dt_stats *t, struct dt_error *e)
{
	dt_stats_reset(t);
	scratch->n = 0;
	if (dt_bars_load(p->bars, r->stats, scratch, e) < 0)
		return -1;
	if (dt_stats_add(t, scratch->p, scratch->n, dt_reader_functions(p->reader)) < 0)
		return dt_fail(e, "the summaries for the time line are damaged");
	return 0;
}

static void add(struct dt_siblings *s, const struct dt_function_stats *f)
{
	s->calls += f->calls;
	if (!f->timed)
		return;
	s->min = !s->timed || f->min < s->min ? f->min : s->min;
	s->max = f->max > s->max ? f->max : s->max;
	s->timed += f->timed;
	s->sum += f->sum;
	for (unsigned b = 0; b < DT_BUCKETS; b++)
		s->bucket[b] += f->bucket[b];
}

int dt_siblings_count(struct dt_siblings *s, const struct dt_pyramid *p, struct dt_error *e)
{
	struct dt_bytes scratch = {0};
	struct dt_stats t = {0};
	int rc = 0;

	s->function = first_row(s->first, s->rows, s->function);
	s->partly = !p->complete;
	for (size_t i = 0; i < p->regions && rc == 0; i++) {
		if (!p->region[i].stats)
			continue;
		rc = load(p, &p->region[i], &scratch, &t, e);
		for (uint32_t k = 0; k < t.functions && rc == 0; k++)
			if (t.function[k].calls && first_row(s->first, s->rows, k) == s->function)
				add(s, &t.function[k]);
	}
	for (size_t i = 0; i < p->lates; i++)
		s->calls += !(p->late[i].flags & DT_CALL_NO_ENTRY) &&
			    first_row(s->first, s->rows, p->late[i].function) == s->function;
	dt_stats_free(&t);
	free(scratch.p);
	return rc;
}

/* ---- the median ---- */

#define CANDIDATES 2000000 /* calls that are kept at most */
#define REGIONS	   16	   /* are read at least, however slow the machine is: a million records */

struct candidates {
	const struct dt_siblings *s;
	unsigned bucket;
	struct dt_call *call;
	size_t n, room;
	bool no_memory;
};

static void on_call(void *ctx, const struct dt_call *c)
{
	struct candidates *x = ctx;

	if (c->flags & DT_CALL_UNTIMED || x->n == CANDIDATES || x->no_memory ||
	    first_row(x->s->first, x->s->rows, c->function) != x->s->function ||
	    dt_stats_bucket(dt_call_ticks(c)) != x->bucket)
		return;
	if (x->n == x->room) {
		size_t room = x->room ? 2 * x->room : 256;
		struct dt_call *more = realloc(x->call, room * sizeof(*more));

		if (!more) {
			x->no_memory = true;
			return;
		}
		x->call = more;
		x->room = room;
	}
	x->call[x->n++] = *c;
}

static int by_ticks(const void *a, const void *b)
{
	const struct dt_call *x = a, *y = b;
	uint64_t t = dt_call_ticks(x), u = dt_call_ticks(y);

	if (t != u)
		return t < u ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool has_some(const struct candidates *x, const struct dt_stats *t)
{
	for (uint32_t k = 0; k < t->functions; k++)
		if (t->function[k].timed && t->function[k].bucket[x->bucket] &&
		    first_row(x->s->first, x->s->rows, k) == x->s->function)
			return true;
	return false;
}

/* Collects the calls of the bucket, for so many seconds, but from REGIONS at least, and, if there
 * is none by then, until there is one. */
static int collect(struct candidates *x, const struct dt_pyramid *p, struct dt_windows *w,
		   double seconds, struct dt_error *e)
{
	struct dt_bytes scratch = {0};
	struct dt_stats t = {0};
	double begun = dt_now_s();
	unsigned read = 0;
	int rc = 0;

	for (size_t i = 0; i < p->regions && rc == 0; i++) {
		const struct dt_region *r = &p->region[i];

		if (x->n && read >= REGIONS && dt_now_s() - begun > seconds)
			break;
		if (!r->stats)
			continue;
		rc = load(p, r, &scratch, &t, e);
		if (rc < 0 || !has_some(x, &t))
			continue;
		rc = dt_window_calls(w, r->begin, r->end - 1, on_call, x, e);
		read++;
	}
	dt_stats_free(&t);
	free(scratch.p);
	return x->no_memory ? dt_fail(e, "out of memory") : rc;
}

int dt_siblings_median(const struct dt_siblings *s, const struct dt_pyramid *p,
		       struct dt_windows *w, double seconds, struct dt_call *c, bool *exact,
		       struct dt_error *e)
{
	struct candidates x = {.s = s};
	uint64_t want = (s->timed + 1) / 2, below = 0;
	int rc;

	if (!s->timed)
		return 0;
	while (x.bucket < DT_BUCKETS && below + s->bucket[x.bucket] < want)
		below += s->bucket[x.bucket++];
	if (x.bucket == DT_BUCKETS)
		return dt_fail(e, "the summaries for the time line are damaged");
	rc = collect(&x, p, w, seconds, e);
	if (rc == 0 && x.n) {
		qsort(x.call, x.n, sizeof(*x.call), by_ticks);
		*exact = x.n == s->bucket[x.bucket];
		*c = x.call[*exact ? want - below - 1 : (x.n - 1) / 2];
		/* these belong to the reading that is over */
		c->argument = c->result = NULL;
		c->note = NULL;
		rc = 1;
	}
	free(x.call);
	return rc;
}

int dt_siblings_rank(const struct dt_siblings *s, const struct dt_pyramid *p, struct dt_windows *w,
		     uint64_t ticks, double seconds, uint64_t *less, uint64_t *equal, bool *exact,
		     struct dt_error *e)
{
	struct candidates x = {.s = s, .bucket = dt_stats_bucket(ticks)};
	int rc = s->bucket[x.bucket] ? collect(&x, p, w, seconds, e) : 0;

	*less = *equal = 0;
	for (size_t i = 0; i < x.n; i++) {
		*less += dt_call_ticks(&x.call[i]) < ticks;
		*equal += dt_call_ticks(&x.call[i]) == ticks;
	}
	*exact = x.n == s->bucket[x.bucket];
	free(x.call);
	return rc;
}

/* ---- the inside of a call ---- */

static void add_inside(struct dt_inside *x, const struct dt_call *c)
{
	uint32_t function = first_row(x->first, x->rows, c->function);
	struct dt_inside_row *row;

	if (function >= x->rows)
		return;
	if (!x->slot[function] && x->n == x->room) {
		size_t room = x->room ? 2 * x->room : 32;
		struct dt_inside_row *more = realloc(x->row, room * sizeof(*more));

		if (!more) {
			x->no_memory = true;
			return;
		}
		x->row = more;
		x->room = room;
	}
	if (!x->slot[function]) {
		x->row[x->n++] = (struct dt_inside_row){.function = function};
		x->slot[function] = (uint32_t)x->n;
	}
	row = &x->row[x->slot[function] - 1];
	row->calls++;
	row->ticks += dt_call_ticks(c);
	row->waited += c->waited;
}

static void on_inside(void *ctx, const struct dt_call *c)
{
	struct dt_inside *x = ctx;

	if (x->found || c->begin < x->begin || c->end > x->end ||
	    (c->tid != x->thread && !(c->tid == DT_NO_TID && x->thread >= DT_TRACK_NOBODY(0))))
		return;
	/* one that ended as this one began was in another */
	if (c->depth == x->depth + 1 && c->end > x->begin)
		add_inside(x, c);
	if (c->depth != x->depth || c->begin != x->begin || c->end != x->end)
		return;
	x->found = true;
	x->call = *c;
	x->call.argument = x->call.result = NULL;
	x->call.note = NULL;
}

static struct dt_inside_wait *wait_of(struct dt_inside *x, uint32_t function, const char *what)
{
	for (size_t i = 0; i < x->waits; i++)
		if (x->wait[i].function == function && !strcmp(x->wait[i].what, what))
			return &x->wait[i];
	if (x->waits == DT_INSIDE_WAITS)
		return NULL;
	if (!x->wait)
		x->wait = calloc(DT_INSIDE_WAITS, sizeof(*x->wait));
	if (!x->wait) {
		x->no_memory = true;
		return NULL;
	}
	x->wait[x->waits] = (struct dt_inside_wait){.function = function, .what = what};
	return &x->wait[x->waits++];
}

static void note_by(const struct dt_reader *r, struct dt_inside_wait *wait,
		    const struct dt_waker *by)
{
	char text[DT_WAKER_TEXT] = "";

	if (by)
		*dt_waker_put(text, r, by, true) = '\0';
	dt_format(wait->by, sizeof(wait->by), "%s", text);
}

static void on_wait(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		    bool preempted, const char *seen, const struct dt_wait_ended *ended)
{
	struct dt_inside *x = ctx;
	struct dt_inside_wait *wait;
	uint32_t function;

	/* what waits in a call ends before it does */
	if (x->found || tid != x->thread || begin < x->begin || end > x->end || !c ||
	    c->depth < x->depth)
		return;
	function = first_row(x->first, x->rows, c->function);
	wait = wait_of(x, function, dt_wait_reason(x->reader, c->function, preempted, seen));
	if (!wait) {
		x->more_waits++;
		return;
	}
	wait->times++;
	wait->ticks += end - begin;
	if (end - begin > wait->longest) {
		wait->longest = end - begin;
		wait->at = begin;
		wait->queued = ended->queued;
		note_by(x->reader, wait, ended->waker);
	}
}

int dt_inside_sum(struct dt_inside *x, struct dt_windows *w, const struct dt_same *same,
		  struct dt_error *e)
{
	x->first = same->first;
	x->rows = same->n;
	x->slot = calloc(same->n + 1ul, sizeof(*x->slot));
	if (!x->slot)
		return dt_fail(e, "out of memory");
	x->reader = dt_windows_reader(w);
	if (dt_window_waits(w, x->begin, x->end, on_inside, on_wait, x, e) < 0)
		return -1;
	return x->no_memory ? dt_fail(e, "out of memory") : 0;
}

void dt_inside_free(struct dt_inside *x)
{
	free(x->row);
	free(x->wait);
	free(x->slot);
}
