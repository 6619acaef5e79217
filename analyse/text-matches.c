/* SPDX-License-Identifier: MIT */
#include "analyse/text-matches.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "core/signature.h"
#include "store/sites.h"
#include "store/text-piece.h"

#define BYTES 256u /* of a text, at most */
#define TERMS 16u  /* conditions, at most */

/* A call whose text is known, by its thread and the ticks of its entry. */
struct found {
	uint64_t ticks; /* 0: free */
	uint32_t tid;
	uint16_t has, matches; /* bit i: condition i is about a text of it; and matches */
};

/* The last entry of a thread, and the text that is being put together behind it. */
struct last {
	uint32_t tid; /* 0: free */
	uint64_t ticks, sp;
	uint32_t function; /* of the text: row that describes it; 0: there is none */
	uint32_t ended;	   /* the same of the call's text that has ended last */
	uint32_t n;
	char bytes[BYTES + 1];
};

struct finding {
	const struct dt_reader *of; /* the filter's user's */
	struct dt_reader *reader;   /* our own */
	const char *name[TERMS], *pattern[TERMS];
	unsigned terms;
	uint16_t seen;	     /* bit i: there is a text that condition i is about */
	struct found *found; /* open addressing; size is a power of two */
	size_t size, used;
	struct last *last; /* likewise, by tid */
	size_t last_size, last_used;
	uint64_t read_until; /* ticks of the newest record that was read */
	bool read, no_memory;
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

static struct last *last_of(struct last *table, size_t size, uint32_t tid)
{
	for (size_t i = dt_hash(tid);; i++) {
		struct last *x = &table[i & (size - 1)];

		if (!x->tid || x->tid == tid)
			return x;
	}
}

/* Returns what is known of a thread; NULL: out of memory. */
static struct last *last_in(struct finding *k, uint32_t tid)
{
	struct last *x, *more;
	size_t size = k->last_size ? 4 * k->last_size : 64;

	if (2 * (k->last_used + 1) > k->last_size) {
		more = calloc(size, sizeof(*more));
		if (!more) {
			k->no_memory = true;
			return NULL;
		}
		for (size_t i = 0; i < k->last_size; i++)
			if (k->last[i].tid)
				*last_of(more, size, k->last[i].tid) = k->last[i];
		free(k->last);
		k->last = more;
		k->last_size = size;
	}
	x = last_of(k->last, k->last_size, tid);
	if (!x->tid) {
		x->tid = tid;
		k->last_used++;
	}
	return x;
}

/* ---- reading ---- */

/* Compares the text that has come with the conditions. */
static void end_text(struct finding *k, struct last *x)
{
	const struct dt_function_info *f =
		x->function ? dt_reader_function(k->reader, x->function) : NULL;
	struct dt_signature_value v;
	struct found *call = NULL;

	x->bytes[x->n] = '\0';
	x->ended = x->function;
	x->function = 0;
	if (!f || !dt_signature_parameter(f->signature, 0, &v))
		return;
	for (unsigned i = 0; i < k->terms; i++) {
		if (strlen(k->name[i]) != v.name_length ||
		    strncmp(k->name[i], v.name, v.name_length) != 0)
			continue;
		if (!call && !(call = add_found(k, x->tid, x->ticks)))
			return;
		k->seen |= (uint16_t)(1u << i);
		call->has |= (uint16_t)(1u << i);
		if (!fnmatch(k->pattern[i], x->bytes, 0))
			call->matches |= (uint16_t)(1u << i);
	}
}

static void take_piece(struct finding *k, struct last *x, const struct dt_site *site,
		       const uint64_t *value, bool fault)
{
	size_t room, full, n;
	const char *bytes = dt_text_bytes(site->place, value, &room, &full);

	n = strnlen(bytes, room);
	if (site->function == x->ended) /* what is behind a NUL of a buffer */
		return;
	if (x->function != site->function) {
		if (x->function)
			end_text(k, x);
		if (!n && fault) /* it could not be read: there is no text */
			return;
		x->function = site->function;
		x->n = 0;
	}
	n = n < BYTES - x->n ? n : BYTES - x->n;
	memcpy(x->bytes + x->n, bytes, n);
	x->n += (uint32_t)n;
	if (n < full || x->n == BYTES)
		end_text(k, x);
}

static int take_span(struct finding *k, const struct dt_span *s)
{
	struct last *x = s->n && s->tid != DT_NO_TID ? last_in(k, s->tid) : NULL;

	for (uint32_t i = 0; x && i < s->n; i++) {
		const struct dt_site *site = dt_reader_site(k->reader, s->site[i]);

		if (s->ticks[i] > k->read_until)
			k->read_until = s->ticks[i];
		if ((site->place == DT_SITE_POINT_TEXT || site->place == DT_SITE_POINT_BUFFER) &&
		    x->ticks && x->sp == s->sp[i]) {
			take_piece(k, x, site, s->value[i], s->flags[i] & DT_FAULT);
		} else if (site->kind == DT_ENTRY || site->kind == DT_EXIT) {
			if (x->function)
				end_text(k, x);
			x->ticks = site->kind == DT_ENTRY ? s->ticks[i] : 0;
			x->ended = 0;
			x->sp = s->sp[i];
		}
	}
	return k->no_memory ? -1 : 0;
}

/* Reads what has come since; from: ticks. */
static int read_from(struct finding *k, uint64_t from, struct dt_error *e)
{
	struct dt_reader_range range = {.order = DT_BY_THREAD, .values = true, .from = from};
	struct dt_span s;
	int rc = dt_reader_start(k->reader, &range, e);

	while (!rc && (rc = dt_reader_next(k->reader, &s, e)) > 0)
		rc = take_span(k, &s) ? dt_fail(e, "out of memory") : 0;
	for (size_t i = 0; i < k->last_size && !rc; i++)
		if (k->last[i].tid && k->last[i].function)
			end_text(k, &k->last[i]);
	return rc;
}

static int matches(void *ctx, const struct dt_call *c, unsigned i)
{
	struct finding *k = ctx;
	const struct found *x;

	if (!k->read) {
		k->read = true;
		k->reader = dt_reader_again(k->of, NULL);
		if (!k->reader || read_from(k, 0, NULL))
			return -2;
	}
	if (!k->reader)
		return -2;
	/* of a trace that grows; a second before: other threads may have been read less far */
	if (c->begin > k->read_until && !dt_reader_refresh(k->reader, NULL)) {
		uint64_t second = (uint64_t)(1e9 / dt_reader_ns_per_tick(k->reader));

		if (read_from(k, k->read_until > second ? k->read_until - second : 0, NULL))
			return -2;
		if (c->begin > k->read_until)
			k->read_until = c->begin;
	}
	if (!k->size)
		return -1;
	x = found_of(k, c->tid, c->begin);
	return !x->ticks || !(x->has >> i & 1) ? -1 : x->matches >> i & 1;
}

static void free_finding(void *ctx)
{
	struct finding *k = ctx;

	dt_reader_close(k->reader);
	free(k->found);
	free(k->last);
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
		if (!(k->seen >> i & 1))
			return k->name[i];
	return NULL;
}
