/* SPDX-License-Identifier: MIT */
#include "show/further.h"

#include "show/entry-records.h"

bool dt_further_is(const struct dt_site *site)
{
	return site->place == DT_SITE_POINT_MORE || site->place == DT_SITE_POINT_TEXT ||
	       site->place == DT_SITE_POINT_BUFFER || site->place == DT_SITE_POINT_LEAVING;
}

bool dt_further_any(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++)
		if (dt_further_is(dt_reader_site(r, i)))
			return true;
	return false;
}

static bool take_first(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

/* Returns the call that a record belongs to whose site has that function; NULL: none is known. */
static const struct dt_call *call_of(struct dt_further *x, uint32_t function)
{
	const struct dt_call *c = NULL;

	dt_pair_callers(x->pair, take_first, &c);
	return c && c->id && dt_entry_records_of(x->reader, function, c->entry) ? c : NULL;
}

static void on_text(void *ctx, const struct dt_text *t)
{
	struct dt_further *x = ctx;
	const struct dt_call *c;

	if (!dt_text_of_point(t) || x->over)
		return;
	/* otherwise the thread is that of the record which ends it */
	if (x->ending)
		dt_pair_look(x->pair, t->head.tid);
	c = call_of(x, t->function);
	if (c)
		dt_entry_records_text(&x->fulls, c->id, x->reader, t, c->argument);
}

void dt_further_begin(struct dt_further *x, struct dt_reader *reader, struct dt_formats *formats,
		      struct dt_pair *pair)
{
	*x = (struct dt_further){.reader = reader, .formats = formats, .pair = pair};
	x->texts = (struct dt_texts){.fn = on_text, .ctx = x};
}

void dt_further_take(struct dt_further *x, const struct dt_span *s, uint32_t i)
{
	const struct dt_site *site = dt_reader_site(x->reader, s->site[i]);
	const struct dt_call *c;
	struct dt_record r;

	if (!dt_further_is(site))
		return;
	dt_span_record(x->reader, s, i, &r);
	if (dt_texts_take(&x->texts, site, &r))
		return;
	c = call_of(x, site->function);
	if (c)
		dt_entry_records_values(&x->fulls, c->id, x->formats, site, &r, c->argument);
}

void dt_further_end(struct dt_further *x)
{
	x->ending = true;
	if (x->texts.fn)
		dt_texts_end(&x->texts);
	x->over = true;
}

bool dt_further_failed(const struct dt_further *x)
{
	return x->texts.failed || x->fulls.failed;
}

void dt_further_free(struct dt_further *x)
{
	x->over = true;
	if (x->texts.fn)
		dt_texts_end(&x->texts);
	dt_fulls_free(&x->fulls);
}
