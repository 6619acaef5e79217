/* SPDX-License-Identifier: MIT */
#include "analyse/text-matches.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/held-calls.h"
#include "store/sites.h"

#define TERMS 16u /* conditions, at most */

/* A call whose text is known, by its thread and the ticks of its entry. */
struct found {
	uint64_t ticks; /* 0: free */
	uint32_t tid;
	uint16_t has, matches; /* bit i: condition i is about a text of it; and matches */
};

struct finding {
	const struct dt_reader *of; /* the filter's user's */
	struct dt_reader *reader;   /* our own */
	const char *name[TERMS], *pattern[TERMS];
	unsigned terms;
	uint16_t seen;	     /* bit i: there is a text that condition i is about */
	struct found *found; /* open addressing; size is a power of two */
	size_t size, used;
	struct dt_pair *pair;
	struct dt_held_calls held;
	struct dt_meanings meanings; /* of our reader */
	uint64_t read_until;	     /* ticks of the newest record that was read */
	bool read, failed, no_memory;
};

/* ---- tables ---- */

static struct found *found_of(const struct finding *k, uint32_t tid, uint64_t ticks)
{
	for (size_t i = dt_hash(ticks ^ (uint64_t)tid << 40);; i++) {
		struct found *x = &k->found[i & (k->size - 1)];

		if (!x->ticks || (x->ticks == ticks && x->tid == tid))
			return x;
	}
}

/* Returns the place of a call, which may be new; NULL: out of memory. */
static struct found *add_found(struct finding *k, uint32_t tid, uint64_t ticks)
{
	struct found *old = k->found, *x;
	size_t size = k->size;

	if (2 * (k->used + 1) > size) {
		k->size = size ? 4 * size : 1024;
		k->found = calloc(k->size, sizeof(*k->found));
		if (!k->found) {
			k->found = old;
			k->size = size;
			k->no_memory = true;
			return NULL;
		}
		for (size_t i = 0; i < size; i++)
			if (old[i].ticks)
				*found_of(k, old[i].tid, old[i].ticks) = old[i];
		free(old);
	}
	x = found_of(k, tid, ticks);
	if (!x->ticks) {
		*x = (struct found){.ticks = ticks, .tid = tid};
		k->used++;
	}
	return x;
}

/* ---- reading ---- */

/* For dt_meanings: of that, nothing else is asked for. */
static const struct dt_function_info *function(const void *reader, uint32_t row)
{
	return dt_reader_function(reader, row);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct finding *k = ctx;

	if (c->id)
		dt_held_call_add(&k->held, c->id);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct finding *k = ctx;

	(void)depth;
	dt_held_calls_take(&k->held, k->pair, dt_reader_site(k->reader, s->site[i]), s, i);
}

/* Compares a call's texts with the conditions. */
static void judge(struct finding *k, const struct dt_call *c, const struct dt_behind *behind)
{
	struct found *call = NULL;

	for (unsigned i = 0; behind && i < k->terms; i++) {
		int matches = dt_behind_matches(behind, &k->meanings, k->name[i], k->pattern[i]);

		if (matches < 0)
			continue;
		if (!call && !(call = add_found(k, c->tid, c->begin)))
			return;
		k->seen |= (uint16_t)(1u << i);
		call->has |= (uint16_t)(1u << i);
		if (matches)
			call->matches |= (uint16_t)(1u << i);
	}
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct finding *k = ctx;
	const struct dt_held_call *h = dt_held_call_find(&k->held, c->id);

	if (!h)
		return;
	judge(k, c, h->behind);
	dt_held_call_drop(&k->held, c->id);
}

/* Reads what there is, or what has come since. */
static int read_more(struct finding *k)
{
	struct dt_span s;
	int rc = 0;

	while (!rc && (rc = dt_reader_next(k->reader, &s, NULL)) > 0) {
		for (uint32_t i = 0; i < s.n; i++)
			if (s.ticks[i] > k->read_until)
				k->read_until = s.ticks[i];
		rc = dt_pair_span(k->pair, &s);
	}
	return rc || k->no_memory || k->held.no_memory ? -1 : 0;
}

static int begin(struct finding *k)
{
	const struct dt_pair_events events = {
		.begin = on_begin, .end = on_end, .other = on_other, .ctx = k};
	struct dt_reader_range range = {.order = DT_BY_THREAD, .values = true};

	k->reader = dt_reader_again(k->of, NULL);
	if (!k->reader)
		return -1;
	k->meanings = (struct dt_meanings){.ctx = k->reader, .function = function};
	k->pair = dt_pair_new(k->reader, &events, false);
	return k->pair && !dt_reader_start(k->reader, &range, NULL) ? read_more(k) : -1;
}

/* Looks for a call among those that are open at the end of what was read. */
struct search {
	const struct dt_call *of;
	uint64_t id; /* 0: not found */
};

static bool look(void *ctx, const struct dt_call *c)
{
	struct search *q = ctx;

	if (c->begin == q->of->begin && c->function == q->of->function)
		q->id = c->id;
	return !q->id;
}

/* Returns what is known of a call's texts; NULL: nothing. */
static const struct found *find(struct finding *k, const struct dt_call *c)
{
	const struct found *x = k->size ? found_of(k, c->tid, c->begin) : NULL;
	struct search q = {c, 0};
	const struct dt_held_call *h;

	if (x && x->ticks)
		return x;
	if (!(c->flags & DT_CALL_OPEN))
		return NULL;
	dt_pair_look(k->pair, c->tid);
	dt_pair_callers(k->pair, look, &q);
	h = dt_held_call_find(&k->held, q.id);
	if (h)
		judge(k, c, h->behind);
	x = k->size ? found_of(k, c->tid, c->begin) : NULL;
	return x && x->ticks ? x : NULL;
}

static int matches(void *ctx, const struct dt_call *c, unsigned i)
{
	struct finding *k = ctx;
	const struct found *x;

	if (!k->read) {
		k->read = true;
		k->failed = begin(k) < 0;
	} else if (c->end > k->read_until && !k->failed) { /* of a trace that grows */
		k->failed = read_more(k) < 0;
		if (c->end > k->read_until)
			k->read_until = c->end;
	}
	if (k->failed)
		return -2;
	x = find(k, c);
	return !x || !(x->has >> i & 1) ? -1 : x->matches >> i & 1;
}

static void free_finding(void *ctx)
{
	struct finding *k = ctx;

	dt_pair_free(k->pair);
	dt_held_calls_free(&k->held);
	dt_reader_close(k->reader);
	free(k->found);
	free(k);
}

int dt_text_matches_look(struct dt_filter *f, const struct dt_reader *r, struct dt_error *e)
{
	struct finding *k;
	const char *name, *pattern;

	if (!dt_filter_text(f, 0, &name, &pattern))
		return 0;
	k = calloc(1, sizeof(*k));
	if (!k)
		return dt_fail(e, "out of memory");
	k->of = r;
	while (k->terms < TERMS &&
	       dt_filter_text(f, k->terms, &k->name[k->terms], &k->pattern[k->terms]))
		k->terms++;
	dt_filter_set_texts(f, &(struct dt_filter_texts){k, free_finding, matches});
	return 0;
}

const char *dt_text_matches_missing(const struct dt_filter *f)
{
	const struct dt_filter_texts *t = dt_filter_texts_of(f);
	const struct finding *k = t->matches == matches ? t->ctx : NULL;

	for (unsigned i = 0; k && k->read && i < k->terms; i++)
		if (!(k->seen >> i & 1) && !dt_filter_text_named(f, i))
			return k->name[i];
	return NULL;
}
