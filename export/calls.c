/* SPDX-License-Identifier: MIT */
#include "export/calls.h"

#include "show/entry-records.h"

static bool take_first(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

/* Returns the call that a record belongs to whose site has that function; NULL: none is known. */
static const struct dt_call *call_of(struct dt_export_calls *x, uint32_t function)
{
	const struct dt_call *c = NULL;

	dt_pair_callers(x->pair, take_first, &c);
	return c && c->id && dt_entry_records_of(x->reader, function, c->entry) ? c : NULL;
}

static void on_text(void *ctx, const struct dt_text *t)
{
	struct dt_export_calls *x = ctx;
	const struct dt_call *c;

	if (!dt_text_of_point(t) || x->over)
		return;
	c = call_of(x, t->function);
	if (c)
		dt_entry_records_text(&x->fulls, c->id, x->reader, t, c->argument);
}

static void take_behind(struct dt_export_calls *x, const struct dt_span *s, uint32_t i)
{
	const struct dt_site *site = dt_reader_site(x->reader, s->site[i]);
	const struct dt_call *c;
	struct dt_record r;

	if (site->place != DT_SITE_POINT_MORE && site->place != DT_SITE_POINT_TEXT &&
	    site->place != DT_SITE_POINT_BUFFER && site->place != DT_SITE_POINT_LEAVING)
		return;
	dt_span_record(x->reader, s, i, &r);
	if (dt_texts_take(&x->texts, site, &r))
		return;
	c = call_of(x, site->function);
	if (c)
		dt_entry_records_values(&x->fulls, c->id, x->formats, site, &r, c->argument);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	const struct dt_export_calls *x = ctx;

	if (x->events->begin)
		x->events->begin(x->events->ctx, c);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct dt_export_calls *x = ctx;

	x->events->end(x->events->ctx, c);
	dt_full_forget(&x->fulls, c->id);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct dt_export_calls *x = ctx;

	if (x->formats && s->value)
		take_behind(x, s, i);
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
	const struct dt_pair_events events = {
		.begin = on_begin, .end = on_end, .other = on_other, .loss = on_loss, .ctx = x};
	struct dt_span s;
	int rc;

	x->texts = (struct dt_texts){.fn = on_text, .ctx = x};
	x->pair = dt_pair_new(x->reader, &events, range->values);
	if (!x->pair)
		return dt_fail(e, "out of memory");
	rc = dt_reader_start(x->reader, range, e);
	while (!rc && (rc = dt_reader_next(x->reader, &s, e)) > 0)
		rc = dt_pair_span(x->pair, &s) ? dt_fail(e, "out of memory") : 0;
	x->over = true;
	if (!rc)
		dt_pair_finish(x->pair);
	if (!rc && (x->texts.failed || x->fulls.failed))
		rc = dt_fail(e, "out of memory");
	dt_texts_end(&x->texts);
	dt_fulls_free(&x->fulls);
	dt_pair_free(x->pair);
	return rc;
}

const struct dt_full *dt_export_calls_full(const struct dt_export_calls *x, const struct dt_call *c)
{
	return c->id && x->fulls.n ? dt_full_of(&x->fulls, c->id) : NULL;
}

void dt_export_calls_words(struct dt_export_calls *x, struct dt_json *t, const struct dt_call *c)
{
	const struct dt_full *full = dt_export_calls_full(x, c);

	if (full)
		dt_words_full(x->formats, t, c->function, c->argument, full);
	else
		dt_words_call(x->formats, t, c->function, c->argument);
	if (c->result)
		dt_words_result(x->formats, t, c->function, c->result);
}
