/* SPDX-License-Identifier: MIT */
#include "analyse/sum-calls.h"

#include <stdlib.h>

#include "analyse/held-calls.h"

struct summing {
	struct dt_reader *reader;
	struct dt_sums *sums;
	struct dt_pair *pair;
	const struct dt_span *span; /* that is being read; NULL: none, at the end of the trace */
	struct dt_held_calls held;
	bool wants_behind;
};

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct summing *k = ctx;
	const uint32_t *caller = dt_pair_caller_note(k->pair);
	struct dt_held_call *h;

	if (!c->note)
		return;
	*c->note = dt_sums_begin(k->sums, c, caller ? *caller : dt_sums_nobody(k->sums));
	h = dt_sums_counts(*c->note) ? dt_held_call_add(&k->held, c->id) : NULL;
	if (h)
		h->core = k->span ? dt_reader_ring_core(k->reader, k->span->core) : 0;
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct summing *k = ctx;

	(void)depth;
	if (k->wants_behind)
		dt_held_calls_take(&k->held, k->pair, dt_reader_site(k->reader, s->site[i]), s, i);
}

/* The functions of the calls around a call. */
struct around {
	uint32_t *function;
	unsigned n, most;
};

static bool take_function(void *ctx, const struct dt_call *c)
{
	struct around *a = ctx;

	if (a->n < a->most)
		a->function[a->n++] = c->function;
	return a->n < a->most;
}

static unsigned callers(const void *ctx, uint32_t *function, unsigned most)
{
	const struct summing *k = ctx;
	struct around a = {function, 0, most};

	dt_pair_callers(k->pair, take_function, &a);
	return a.n;
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct summing *k = ctx;
	const struct dt_held_call *h = dt_held_call_find(&k->held, c->id);
	struct dt_sums_around a = {.ctx = k, .callers = callers};
	const struct dt_thread_info *t;

	if (!h || !c->note)
		return;
	t = c->tid == DT_NO_TID ? NULL : dt_reader_thread(k->reader, c->tid);
	a.pid = t ? t->pid : 0;
	a.core = h->core;
	a.behind = h->behind;
	dt_sums_end(k->sums, c, *c->note, &a);
	dt_held_call_drop(&k->held, c->id);
}

int dt_sum_calls(struct dt_reader *r, struct dt_sums *sums, struct dt_reader_range *range,
		 uint64_t *folded, struct dt_error *e)
{
	struct summing *k = calloc(1, sizeof(*k));
	const struct dt_pair_events events = {
		.begin = on_begin, .end = on_end, .other = on_other, .ctx = k};
	struct dt_span s;
	int rc = -1;

	if (!k)
		return dt_fail(e, "out of memory");
	*k = (struct summing){
		.reader = r, .sums = sums, .wants_behind = dt_sums_wants_arguments(sums)};
	range->values = true;
	*folded = 0;
	k->pair = dt_pair_new(r, &events, true);
	if (!k->pair) {
		dt_fail(e, "out of memory");
		goto out;
	}
	rc = dt_reader_start(r, range, e);
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		k->span = &s;
		rc = dt_pair_span(k->pair, &s) ? dt_fail(e, "out of memory") : 0;
	}
	k->span = NULL;
	if (!rc)
		rc = dt_pair_finish(k->pair);
	*folded = dt_pair_folded(k->pair);
	if (!rc && (k->held.no_memory || dt_sums_failed(sums)))
		rc = dt_fail(e, "out of memory");
out:
	dt_held_calls_free(&k->held);
	dt_pair_free(k->pair);
	free(k);
	return rc;
}
