/* SPDX-License-Identifier: MIT */
/*
 * The sieve's sums: what is known of an open call is kept until it has ended, and is then given to
 * the sums (filter/sums.h). What counts is a call whose entry has been recorded.
 */
#include "process/now.h"
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#include "process/threads.h"
#include "store/sums.h"

/* Calls that are remembered to be used again, at most. */
#define SPARE 1024u
/* While a session runs, writing sums of many keys to the file takes one part in so many of its
 * time. */
#define SHARE 20u

/* ---- what is kept of a call ---- */

static void forget(struct dt_sieve *v, struct sieve_call *c)
{
	dt_behind_free(&c->behind, &v->behinds);
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

/* ---- its end ---- */

static int matches(void *ctx, const struct dt_call *c, unsigned i)
{
	const struct sieve_asker *a = ctx;
	const char *name, *pattern;

	if (!a->sieve->ending || !dt_filter_text(a->filter, i, &name, &pattern))
		return -1;
	return dt_behind_matches(a->sieve->ending->behind, &a->sieve->meanings, name, pattern);
}

void dt_sieve_sums_texts(struct dt_sieve *v)
{
	const char *name, *pattern;
	size_t sums = v->sums ? dt_sums_count(v->sums) : 0;

	v->filter_texts = dt_filter_text(v->filter, 0, &name, &pattern);
	v->behind = v->filter_texts || (v->sums && dt_sums_wants_arguments(v->sums));
	v->triggers = false;
	for (size_t i = 0; i < v->words.n; i++)
		v->triggers |= v->words.at[i].signal != DT_SIEVE_SUM;
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

void dt_sieve_sums_end(struct dt_sieve *v, const struct sieve_thread *t, const struct stack *s,
		       struct frame *f, const struct dt_call *ended)
{
	const size_t backtrace = v->words.backtrace; /* 0: none */
	uint64_t before = 0;
	struct asked asked = {s, !s ? 0 : f == &t->alone ? s->n : (uint32_t)(f - s->frame)};
	struct dt_sums_around around = {.ctx = &asked, .callers = callers};
	struct dt_call c = *ended;

	if (!f->call)
		return;
	c.tid = t->key <= UINT32_MAX ? (uint32_t)t->key : DT_NO_TID;
	c.function = f->function;
	c.begin = f->begin;
	c.end = c.end > f->begin ? c.end : f->begin;
	c.sp = f->sp;
	c.children = f->children;
	c.depth = f->call->depth;
	c.argument = f->call->argument;
	c.flags |= f->call->lossy ? DT_CALL_LOSS : 0;
	around.core = f->call->core;
	around.behind = f->call->behind;
	around.pid = c.tid == DT_NO_TID ? 0 : dt_store_pid(v->session->store, c.tid);
	v->ending = f->call;
	if (backtrace)
		before = dt_sums_totals(v->sums, backtrace - 1).calls;
	if (v->sums)
		dt_sums_end(v->sums, &c, f->note, &around);
	v->ending = NULL;
	if (backtrace && dt_sums_totals(v->sums, backtrace - 1).calls != before)
		dt_sieve_keep_stack(v, t, &c, around.pid);
	if (v->triggers)
		dt_sieve_act(v, &c, around.pid);
	dt_sieve_sums_forget(v, f);
}

bool dt_sieve_sums_simple(const struct dt_sieve *v)
{
	return !v->behind && !v->triggers && !v->words.backtrace;
}

void dt_sieve_sums_leaf(struct dt_sieve *v, struct dt_call *c, uint32_t note, const struct stack *s,
			unsigned core)
{
	struct asked asked = {s, s->n};
	struct dt_sums_around around = {.ctx = &asked, .callers = callers, .core = core};

	c->children = 0;
	around.pid = c->tid == DT_NO_TID ? 0 : dt_store_pid(v->session->store, c->tid);
	dt_sums_end(v->sums, c, note, &around);
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

bool dt_sieve_sums_due(const struct dt_sieve *v)
{
	return dt_now_ns() - v->sums_written >= SHARE * v->sums_took;
}

int dt_sieve_sums_account(struct dt_sieve *v, struct dt_error *e)
{
	struct dt_store *store = v->session->store;
	uint64_t begin = dt_now_ns();

	for (unsigned i = 0; i < dt_sums_count(v->sums); i++) {
		struct dt_sums_totals totals = dt_sums_totals(v->sums, i);
		struct dt_sum_row row = {i, v->words.at[i].text, totals.calls, totals.others,
					 v->sums_missed};
		struct writing w = {store, i, e};

		if (dt_store_sum(store, &row, e) || dt_sums_each(v->sums, i, true, write_line, &w))
			return -1;
	}
	v->sums_written = dt_now_ns();
	v->sums_took = v->sums_written - begin;
	return 0;
}
