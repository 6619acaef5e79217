/* SPDX-License-Identifier: MIT */
#include "cmd/sum-calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pair.h"
#include "core/signature.h"
#include "show/entry-records.h"
#include "show/event.h"

#define SLOTS 4096u /* of the table of open calls; a power of two */

/* A text that an argument of an open call points to, or further arguments. */
struct held_text {
	struct held_text *next;
	uint32_t function; /* row that describes it */
	uint32_t n;
	bool is_values; /* `value' has arguments */
	uint64_t value[4];
	char bytes[];
};

/* What is kept of an open call that counts. */
struct held {
	struct held *next; /* in its slot */
	uint64_t id;
	unsigned core;
	struct held_text *text;
};

struct summing {
	struct dt_reader *reader;
	struct dt_sums *sums;
	struct dt_pair *pair;
	const struct dt_span *span; /* that is being read; NULL: none, at the end of the trace */
	struct dt_texts texts;
	struct held *slot[SLOTS];
	bool wants_behind, no_memory;
};

/* ---- open calls ---- */

static struct held **slot_of(struct summing *k, uint64_t id)
{
	struct held **p = &k->slot[id & (SLOTS - 1)];

	while (*p && (*p)->id != id)
		p = &(*p)->next;
	return p;
}

static void drop(struct held **p)
{
	struct held *h = *p;
	struct held_text *next;

	if (!h)
		return;
	*p = h->next;
	for (struct held_text *t = h->text; t; t = next) {
		next = t->next;
		free(t);
	}
	free(h);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct summing *k = ctx;
	const uint32_t *caller = dt_pair_caller_note(k->pair);
	struct held **p;

	if (!c->note)
		return;
	*c->note = dt_sums_begin(k->sums, c, caller ? *caller : dt_sums_nobody(k->sums));
	if (!dt_sums_counts(*c->note))
		return;
	p = slot_of(k, c->id);
	if (!*p && !(*p = calloc(1, sizeof(**p)))) {
		k->no_memory = true;
		return;
	}
	(*p)->id = c->id;
	(*p)->core = k->span ? dt_reader_ring_core(k->reader, k->span->core) : 0;
}

/* ---- texts ---- */

static bool take_caller(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

static void on_text(void *ctx, const struct dt_text *t)
{
	struct summing *k = ctx;
	const struct dt_call *c = NULL;
	struct held_text *x;
	struct held *h;

	if (!dt_text_of_point(t) || !k->span || (!t->n && t->head.flags & DT_FAULT))
		return;
	dt_pair_callers(k->pair, take_caller, &c);
	if (!c || !c->id || !dt_entry_records_of(k->reader, t->function, c->entry))
		return;
	h = *slot_of(k, c->id);
	if (!h)
		return;
	x = malloc(sizeof(*x) + t->n);
	if (!x) {
		k->no_memory = true;
		return;
	}
	*x = (struct held_text){.next = h->text, .function = t->function, .n = t->n};
	memcpy(x->bytes, t->bytes, t->n);
	h->text = x;
}

static void take_values(struct summing *k, const struct dt_site *site, const struct dt_record *r)
{
	const struct dt_call *c = NULL;
	struct held_text *x;
	struct held *h;

	dt_pair_callers(k->pair, take_caller, &c);
	if (!c || !c->id || !dt_entry_records_of(k->reader, site->function, c->entry))
		return;
	h = *slot_of(k, c->id);
	if (!h)
		return;
	x = malloc(sizeof(*x));
	if (!x) {
		k->no_memory = true;
		return;
	}
	*x = (struct held_text){.next = h->text, .function = site->function, .is_values = true};
	memcpy(x->value, r->value, sizeof(x->value));
	h->text = x;
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct summing *k = ctx;
	const struct dt_site *site = dt_reader_site(k->reader, s->site[i]);
	struct dt_record r;

	(void)depth;
	if (!k->wants_behind ||
	    (site->place != DT_SITE_POINT_TEXT && site->place != DT_SITE_POINT_MORE &&
	     site->place != DT_SITE_POINT_BUFFER))
		return;
	dt_span_record(k->reader, s, i, &r);
	if (!dt_texts_take(&k->texts, site, &r))
		take_values(k, site, &r);
	k->no_memory |= k->texts.failed;
}

/* ---- ends ---- */

/* A call that ends, for what the sums ask about it. */
struct asked {
	struct summing *k;
	const struct held *held;
};

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
	const struct asked *q = ctx;
	struct around a = {function, 0, most};

	dt_pair_callers(q->k->pair, take_function, &a);
	return a.n;
}

static const char *text_of(const void *ctx, const char *name, size_t *n)
{
	const struct asked *q = ctx;
	size_t length = strlen(name);

	for (const struct held_text *t = q->held->text; t; t = t->next) {
		const struct dt_function_info *f = dt_reader_function(q->k->reader, t->function);
		struct dt_signature_value v;

		if (!t->is_values && f && dt_signature_parameter(f->signature, 0, &v) &&
		    v.name_length == length && !strncmp(v.name, name, length)) {
			*n = t->n;
			return t->bytes;
		}
	}
	return NULL;
}

static bool number_of(const void *ctx, const char *name, struct dt_call_number *n)
{
	const struct dt_call_operand o = {.what = DT_OPERAND_NAMED, .name = name};
	const struct asked *q = ctx;
	struct dt_call_operand_place place;

	for (const struct held_text *t = q->held->text; t; t = t->next) {
		const struct dt_function_info *f = dt_reader_function(q->k->reader, t->function);

		if (!t->is_values || !f)
			continue;
		dt_operand_find(&place, f->signature, &o);
		if (dt_operand_number(&place, t->value, n))
			return true;
	}
	return false;
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct summing *k = ctx;
	struct held **p = c->id ? slot_of(k, c->id) : NULL;
	struct asked asked = {k, p ? *p : NULL};
	const struct dt_thread_info *t;
	struct dt_sums_around a = {
		.ctx = &asked, .callers = callers, .text = text_of, .number = number_of};

	if (!asked.held || !c->note)
		return;
	t = c->tid == DT_NO_TID ? NULL : dt_reader_thread(k->reader, c->tid);
	a.pid = t ? t->pid : 0;
	a.core = asked.held->core;
	dt_sums_end(k->sums, c, *c->note, &a);
	drop(p);
}

int dt_sum_calls(struct dt_reader *r, struct dt_sums *sums, struct dt_reader_range *range,
		 struct dt_error *e)
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
	k->texts = (struct dt_texts){.fn = on_text, .ctx = k};
	range->values = true;
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
	dt_texts_end(&k->texts);
	if (!rc && (k->no_memory || dt_sums_failed(sums)))
		rc = dt_fail(e, "out of memory");
out:
	for (unsigned i = 0; i < SLOTS; i++)
		while (k->slot[i])
			drop(&k->slot[i]);
	dt_pair_free(k->pair);
	free(k);
	return rc;
}
