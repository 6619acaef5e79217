/* SPDX-License-Identifier: MIT */
#include "analyse/chosen.h"

#include <stdlib.h>
#include <string.h>

/* Returns the core whose records are being read. */
static uint16_t core_of(const struct dt_choosing *k)
{
	return k->span ? dt_reader_ring_core(k->reader, k->span->core) : 0;
}

/* Returns the bits of the call that the one of the event is in. */
static uint32_t around(const struct dt_choosing *k)
{
	const uint32_t *caller = dt_pair_caller_note(k->pair);

	return caller ? *caller >> DT_CHOSEN_SHIFT & DT_AROUND_ALL : dt_filter_nobody(k->filter);
}

static bool wants_beginning(const struct dt_choosing *k, const struct dt_call *c)
{
	return dt_filter_place(k->filter, core_of(k), c->tid) &&
	       dt_filter_begin(k->filter, c, around(k));
}

void dt_chosen_begin(const struct dt_choosing *k, const struct dt_call *c)
{
	if (c->note)
		*c->note = (*c->note & ~DT_CHOSEN_BITS) | (wants_beginning(k, c) ? DT_CHOSEN : 0) |
			   dt_filter_around(k->filter, around(k), c->function) << DT_CHOSEN_SHIFT;
}

bool dt_chosen_end(const struct dt_choosing *k, const struct dt_call *c)
{
	return (c->note ? *c->note & DT_CHOSEN : wants_beginning(k, c)) &&
	       dt_filter_end(k->filter, c);
}

int dt_chosen_run(struct dt_choosing *k, struct dt_reader *r, const struct dt_reader_range *range,
		  const struct dt_pair_events *events, struct dt_error *e)
{
	struct dt_pair *p = dt_pair_new(r, events, range->values);
	struct dt_span s;
	int rc;

	if (!p)
		return dt_fail(e, "out of memory");
	k->reader = r;
	k->pair = p;
	rc = dt_reader_start(r, range, e);
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		k->span = &s;
		rc = dt_pair_span(p, &s) ? dt_fail(e, "out of memory") : 0;
	}
	k->span = NULL;
	if (!rc)
		dt_pair_finish(p);
	if (!rc && k->filter && dt_filter_failed(k->filter))
		rc = dt_fail(e, "out of memory");
	dt_pair_free(p);
	k->pair = NULL;
	return rc;
}

/* What a pass knows. */
struct pass {
	struct dt_choosing choice;
	struct dt_chosen_calls *set;
	bool no_memory;
};

static void on_begin(void *ctx, const struct dt_call *c)
{
	const struct pass *k = ctx;

	dt_chosen_begin(&k->choice, c);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct pass *k = ctx;
	struct dt_chosen_calls *s = k->set;

	if (!c->id || k->no_memory || !dt_chosen_end(&k->choice, c))
		return;
	if (c->id >= s->n) {
		uint64_t n = (c->id + c->id / 2 + 4096) & ~63ull;
		uint64_t *more = realloc(s->bits, n / 8);

		if (!more) {
			k->no_memory = true;
			return;
		}
		memset((char *)more + s->n / 8, 0, (n - s->n) / 8);
		s->bits = more;
		s->n = n;
	}
	s->bits[c->id / 64] |= 1ull << c->id % 64;
}

int dt_chosen_read(struct dt_chosen_calls *k, struct dt_filter *f, struct dt_reader *r,
		   const struct dt_reader_range *range, bool (*wanted)(void *ctx, uint32_t tid),
		   void *ctx, struct dt_error *e)
{
	struct pass pass = {.choice = {.filter = f, .reader = r}, .set = k};
	const struct dt_pair_events events = {.begin = on_begin, .end = on_end, .ctx = &pass};
	struct dt_reader_range values = *range;
	struct dt_pair *p = dt_pair_new(r, &events, true);
	struct dt_span s;
	int rc;

	if (!p)
		return dt_fail(e, "out of memory");
	pass.choice.pair = p;
	values.values = true;
	rc = dt_reader_start(r, &values, e);
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		rc = 0;
		if (s.n && wanted && !wanted(ctx, s.tid) && !dt_pair_unwanted(p, &s))
			continue;
		pass.choice.span = &s;
		if (dt_pair_span(p, &s))
			rc = dt_fail(e, "out of memory");
	}
	pass.choice.span = NULL;
	if (!rc)
		dt_pair_finish(p);
	if (!rc && (pass.no_memory || dt_filter_failed(f)))
		rc = dt_fail(e, "out of memory");
	dt_pair_free(p);
	return rc;
}

void dt_chosen_free(struct dt_chosen_calls *k)
{
	free(k->bits);
	*k = (struct dt_chosen_calls){0};
}
