/* SPDX-License-Identifier: MIT */
#include "export/calls.h"

static void on_begin(void *ctx, const struct dt_call *c)
{
	const struct dt_export_calls *x = ctx;

	x->events->begin(x->events->ctx, c);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct dt_export_calls *x = ctx;

	x->events->end(x->events->ctx, c);
	dt_full_forget(&x->further.fulls, c->id);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct dt_export_calls *x = ctx;

	if (x->formats)
		dt_further_take(&x->further, s, i);
	if (x->events->other)
		x->events->other(x->events->ctx, s, i, depth);
}

static void on_loss(void *ctx, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end)
{
	const struct dt_export_calls *x = ctx;

	if (x->events->loss)
		x->events->loss(x->events->ctx, tid, lost, begin, end);
}

int dt_export_calls_run(struct dt_export_calls *x, const struct dt_reader_range *range,
			struct dt_error *e)
{
	const struct dt_pair_events events = {.begin = x->events->begin ? on_begin : NULL,
					      .end = on_end,
					      .other = on_other,
					      .loss = on_loss,
					      .ctx = x};
	struct dt_pair *pair = dt_pair_new(x->reader, &events, range->values);
	struct dt_span s;
	int rc;

	if (!pair)
		return dt_fail(e, "out of memory");
	x->pair = pair;
	dt_further_begin(&x->further, x->reader, x->formats, pair);
	rc = dt_reader_start(x->reader, range, e);
	while (!rc && (rc = dt_reader_next(x->reader, &s, e)) > 0)
		rc = dt_pair_span(pair, &s) ? dt_fail(e, "out of memory") : 0;
	if (!rc) {
		dt_further_end(&x->further);
		dt_pair_finish(pair);
	}
	if (!rc && dt_further_failed(&x->further))
		rc = dt_fail(e, "out of memory");
	dt_further_free(&x->further);
	dt_pair_free(pair);
	return rc;
}

void dt_export_calls_words(struct dt_export_calls *x, struct dt_json *t, const struct dt_call *c)
{
	const struct dt_full *full = c->id ? dt_full_of(&x->further.fulls, c->id) : NULL;

	if (full)
		dt_words_full(x->formats, t, c->function, c->argument, full);
	else
		dt_words_call(x->formats, t, c->function, c->argument);
	if (c->result)
		dt_words_result(x->formats, t, c->function, c->result);
}
