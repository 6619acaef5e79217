/* SPDX-License-Identifier: MIT */
/*
 * The sieve's sums: what is known of an open call is kept until it has ended, and is then given to
 * the sums (filter/sums.h). What counts is a call whose entry has been recorded.
 */
#include "session/sieve-work.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/signature.h"
#include "store/sums.h"
#include "store/text-piece.h"

/* A text that an argument of a call points to, or further arguments. */
struct sieve_text {
	struct sieve_text *next;
	uint32_t function; /* row that describes it: its first parameter has the argument's name */
	uint32_t n;
	bool ended;
	bool is_values; /* `value' has arguments */
	union {
		char bytes[DT_SUMS_TEXT];
		uint64_t value[4];
	};
};

/* Calls that are remembered to be used again, at most. */
#define SPARE 1024u

/* ---- what is kept of a call ---- */

static void free_texts(struct sieve_call *c)
{
	struct sieve_text *next;

	for (struct sieve_text *t = c->text; t; t = next) {
		next = t->next;
		free(t);
	}
	c->text = NULL;
}

static void forget(struct dt_sieve *v, struct sieve_call *c)
{
	free_texts(c);
	if (v->spares < SPARE) {
		c->next = v->spare;
		v->spare = c;
		v->spares++;
	} else {
		free(c);
	}
}

void dt_sieve_sums_forget(struct dt_sieve *v, struct frame *f)
{
	if (f->call)
		forget(v, f->call);
	f->call = NULL;
}

void dt_sieve_sums_free(struct dt_sieve *v)
{
	struct sieve_call *next;

	for (struct sieve_call *c = v->spare; c; c = next) {
		next = c->next;
		free(c);
	}
	dt_sums_free(v->sums);
	dt_sieve_words_free(&v->words);
}

void dt_sieve_sums_begin(struct dt_sieve *v, struct frame *f, const struct dt_call *c,
			 uint32_t caller, const struct dt_record *r, unsigned core)
{
	struct sieve_call *k;

	f->note = v->sums ? dt_sums_begin(v->sums, c, caller) : 0;
	if (!dt_sums_counts(f->note) && !(v->filter_texts && f->wanted))
		return;
	k = v->spare;
	if (k) {
		v->spare = k->next;
		v->spares--;
	} else if (!(k = malloc(sizeof(*k)))) {
		v->no_memory = true;
		return;
	}
	*k = (struct sieve_call){.core = core, .depth = c->depth};
	memcpy(k->argument, r->value, sizeof(k->argument));
	f->call = k;
}

void dt_sieve_sums_values(struct dt_sieve *v, struct sieve_call *c, const struct dt_record *r,
			  uint32_t function)
{
	struct sieve_text *t = calloc(1, sizeof(*t));

	if (!t) {
		v->no_memory = true;
		return;
	}
	t->is_values = true;
	t->function = function;
	memcpy(t->value, r->value, sizeof(t->value));
	t->next = c->text;
	c->text = t;
}

void dt_sieve_sums_text(struct dt_sieve *v, struct sieve_call *c, const struct dt_record *r,
			const struct dt_store_place *at)
{
	size_t room, full, n;
	const char *bytes = dt_text_bytes(at->place, r->value, &room, &full);
	uint32_t function = (uint32_t)at->function;
	struct sieve_text *t = c->text;

	if (!bytes)
		return;
	n = strnlen(bytes, room);
	while (t && t->function != function)
		t = t->next;
	if (!t) {
		/* one that could not be read is none */
		if (!n && r->flags & DT_FAULT)
			return;
		t = calloc(1, sizeof(*t));
		if (!t) {
			v->no_memory = true;
			return;
		}
		t->function = function;
		t->next = c->text;
		c->text = t;
	}
	if (t->ended || t->n + n > sizeof(t->bytes))
		return;
	memcpy(t->bytes + t->n, bytes, n);
	t->n += (uint32_t)n;
	t->ended = n < full;
}

/* ---- its end ---- */

/* Returns the text of an argument, and its length; NULL: none is known. */
static const char *text_in(const struct dt_sieve *v, const struct sieve_call *c, const char *name,
			   size_t *n)
{
	size_t length = strlen(name);

	for (const struct sieve_text *t = c->text; t; t = t->next) {
		const struct dt_function_info *f =
			t->function < v->functions ? &v->function[t->function] : NULL;
		struct dt_signature_value value;

		if (!t->is_values && f && f->signature &&
		    dt_signature_parameter(f->signature, 0, &value) &&
		    value.name_length == length && !strncmp(value.name, name, length)) {
			*n = t->n;
			return t->bytes;
		}
	}
	return NULL;
}

static int matches(void *ctx, const struct dt_call *c, unsigned i)
{
	const struct sieve_asker *a = ctx;
	const char *name, *pattern, *text;
	char line[DT_SUMS_TEXT + 1];
	size_t n;

	if (!a->sieve->ending || !dt_filter_text(a->filter, i, &name, &pattern))
		return -1;
	text = text_in(a->sieve, a->sieve->ending, name, &n);
	if (!text)
		return -1;
	memcpy(line, text, n);
	line[n] = '\0';
	return fnmatch(pattern, line, 0) == 0;
}

void dt_sieve_sums_texts(struct dt_sieve *v)
{
	const char *name, *pattern;
	size_t sums = v->sums ? dt_sums_count(v->sums) : 0;

	v->filter_texts = dt_filter_text(v->filter, 0, &name, &pattern);
	v->behind |= v->filter_texts;
	for (size_t i = 0; i <= sums; i++) {
		struct dt_filter *f = i ? dt_sums_filter(v->sums, i - 1) : v->filter;

		if (!f || !dt_filter_text(f, 0, &name, &pattern))
			continue;
		v->behind = true;
		v->asker[i] = (struct sieve_asker){v, f};
		dt_filter_set_texts(f, &(struct dt_filter_texts){&v->asker[i], NULL, matches});
	}
}

/* A call that has ended, for what the sums ask about it. */
struct asked {
	struct dt_sieve *v;
	const struct sieve_call *call;
	const struct stack *stack; /* NULL: it was in no other call */
	uint32_t above;		   /* how many of its frames are around the call */
};

static unsigned callers(const void *ctx, uint32_t *function, unsigned most)
{
	const struct asked *k = ctx;
	unsigned n = 0;

	if (k->stack)
		for (uint32_t i = k->above; i-- > 0 && n < most;)
			function[n++] = k->stack->frame[i].function;
	return n;
}

static const char *text_of(const void *ctx, const char *name, size_t *n)
{
	const struct asked *k = ctx;

	return text_in(k->v, k->call, name, n);
}

static bool number_of(const void *ctx, const char *name, struct dt_call_number *n)
{
	const struct dt_call_operand o = {.what = DT_OPERAND_NAMED, .name = name};
	const struct asked *k = ctx;
	struct dt_call_operand_place place;

	for (const struct sieve_text *t = k->call->text; t; t = t->next) {
		const struct dt_function_info *f =
			t->function < k->v->functions ? &k->v->function[t->function] : NULL;

		if (!t->is_values || !f || !f->signature)
			continue;
		dt_operand_find(&place, f->signature, &o);
		if (dt_operand_number(&place, t->value, n))
			return true;
	}
	return false;
}

void dt_sieve_sums_end(struct dt_sieve *v, const struct sieve_thread *t, const struct stack *s,
		       struct frame *f, const struct dt_call *ended)
{
	struct asked asked = {v, f->call, s,
			      !s	       ? 0
			      : f == &t->alone ? s->n
					       : (uint32_t)(f - s->frame)};
	struct dt_sums_around around = {
		.ctx = &asked, .callers = callers, .text = text_of, .number = number_of};
	struct dt_call c = *ended;

	if (!f->call)
		return;
	c.tid = t->key <= UINT32_MAX ? (uint32_t)t->key : DT_NO_TID;
	c.function = f->function;
	c.begin = f->begin;
	c.end = c.end > f->begin ? c.end : f->begin;
	c.children = f->children;
	c.depth = f->call->depth;
	c.argument = f->call->argument;
	c.flags |= f->call->lossy ? DT_CALL_LOSS : 0;
	around.core = f->call->core;
	around.pid = c.tid == DT_NO_TID ? 0 : dt_store_pid(v->session->store, c.tid);
	v->ending = f->call;
	if (v->sums)
		dt_sums_end(v->sums, &c, f->note, &around);
	v->ending = NULL;
	if (v->words.sums < v->words.n)
		dt_sieve_act(v, &c, around.pid);
	dt_sieve_sums_forget(v, f);
}

void dt_sieve_sums_alone(struct dt_sieve *v, struct sieve_thread *t)
{
	const struct dt_call c = {.flags = DT_CALL_NO_EXIT, .end = t->alone.begin};

	if (t->alone.verdict >= VERDICT_FIRST)
		dt_sieve_judge_alone(v, t);
	dt_sieve_sums_end(v, t, t->alone_stack, &t->alone, &c);
}

/* ---- writing ---- */

/* What write_line() gets. */
struct writing {
	struct dt_store *store;
	unsigned sum;
	struct dt_error *e;
};

static int write_line(void *ctx, const struct dt_sums_row *row)
{
	const struct writing *w = ctx;
	const struct dt_sum_line line = {
		.sum = w->sum,
		.row = row->number,
		.function = row->function,
		.calls = row->calls,
		.unknown = row->unknown,
		.real = row->real,
		.number = {row->sum, row->least, row->greatest},
		.floating = {row->floating.sum, row->floating.least, row->floating.greatest},
		.key = row->key,
		.key_n = row->n,
		.bucket = row->bucket};

	return dt_store_sum_line(w->store, &line, w->e);
}

_Static_assert(DT_SUM_BUCKETS == DT_SUMS_BUCKETS, "a line has the buckets of a row");

int dt_sieve_sums_account(struct dt_sieve *v, struct dt_error *e)
{
	struct dt_store *store = v->session->store;

	for (unsigned i = 0; i < dt_sums_count(v->sums); i++) {
		struct dt_sums_totals totals = dt_sums_totals(v->sums, i);
		struct dt_sum_row row = {i, v->words.text[i], totals.calls, totals.others,
					 v->sums_missed};
		struct writing w = {store, i, e};

		if (dt_store_sum(store, &row, e) || dt_sums_each(v->sums, i, true, write_line, &w))
			return -1;
	}
	return 0;
}
