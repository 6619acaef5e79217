/* SPDX-License-Identifier: MIT */
/* Sums over calls, by the values of keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "filter/sums-work.h"

#define KEY_MOST 4096u /* bytes of all keys of a row: texts, callers, and numbers of 9 bytes */

/* ---- which calls ---- */

uint32_t dt_sums_nobody(const struct dt_sums *s)
{
	uint32_t note = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->sum[i].filter)
			note |= dt_filter_nobody(s->sum[i].filter) << DT_SUMS_BITS * i;
	return note;
}

uint32_t dt_sums_begin(struct dt_sums *s, const struct dt_call *c, uint32_t caller)
{
	uint32_t note = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct dt_filter *f = s->sum[i].filter;
		uint32_t around = caller >> DT_SUMS_BITS * i & DT_AROUND_ALL, own = 0;

		if (f)
			own = dt_filter_around(f, around, c->function);
		if (!f || dt_filter_begin(f, c, around))
			own |= DT_SUMS_COUNTS;
		note |= own << DT_SUMS_BITS * i;
	}
	return note;
}

bool dt_sums_counts(uint32_t note)
{
	return note & 0x88888888u;
}

_Static_assert(DT_SUMS_MOST *DT_SUMS_BITS <= 32 && (DT_AROUND_ALL & DT_SUMS_COUNTS) == 0,
	       "a note has the bits");

/* ---- values ---- */

static struct dt_sums_places *places_of(struct dt_sums *s, struct dt_sums_one *u, uint32_t function)
{
	if (function >= u->functions) {
		uint32_t n = function + 1 + function / 2;
		struct dt_sums_places *more = realloc(u->function, n * sizeof(*more));

		if (!more) {
			s->no_memory = true;
			return NULL;
		}
		memset(more + u->functions, 0, (n - u->functions) * sizeof(*more));
		u->function = more;
		u->functions = n;
	}
	return &u->function[function];
}

/* Reads a value of a call, a result or an argument; which: 0 for the value, 1 on for keys. */
static bool read_value(struct dt_sums *s, struct dt_sums_one *u, const struct dt_sums_term *t,
		       unsigned which, const struct dt_call *c, const struct dt_sums_around *a,
		       struct dt_call_number *n)
{
	const struct dt_call_operand o = {.what = t->what == DT_SUMS_RESULT ? DT_OPERAND_RESULT
						  : t->index == UINT32_MAX  ? DT_OPERAND_NAMED
									    : DT_OPERAND_ARGUMENT,
					  .index = t->index,
					  .name = t->name};
	struct dt_sums_places *p = places_of(s, u, c->function);

	if (!p)
		return false;
	if (!p->at[which].known) {
		const struct dt_function_info *info =
			s->meanings.function(s->meanings.ctx, c->function);

		dt_operand_find(&p->at[which], info ? info->signature : "", &o);
	}
	if (dt_operand_number(&p->at[which], t->what == DT_SUMS_RESULT ? c->result : c->argument,
			      n))
		return true;
	return o.what == DT_OPERAND_NAMED && dt_behind_number(a->behind, &s->meanings, t->name, n);
}

/* Reads what is to be summed up. False: it is not known, or is no number, so that there would be no
 * sum either. */
static bool value_of(struct dt_sums *s, struct dt_sums_one *u, const struct dt_call *c,
		     const struct dt_sums_around *a, struct dt_call_number *n)
{
	const struct dt_sums_term *t = &u->words.value;
	uint64_t ticks;

	if (t->what == DT_SUMS_RESULT || t->what == DT_SUMS_ARGUMENT)
		return read_value(s, u, t, 0, c, a, n) && !isnan(n->floating);
	if (c->flags & DT_CALL_UNTIMED)
		return false;
	ticks = dt_call_ticks(c);
	if (t->what == DT_SUMS_SELF)
		ticks = ticks > c->children ? ticks - c->children : 0;
	*n = (struct dt_call_number){.number = ticks, .floating = (double)ticks};
	return true;
}

unsigned dt_sums_bucket(__int128 v)
{
	bool negative = v < 0;
	unsigned __int128 size = negative ? -(unsigned __int128)v : (unsigned __int128)v;
	unsigned bits = !size		    ? 0
			: size > UINT64_MAX ? 64
					    : 64u - (unsigned)__builtin_clzll((uint64_t)size);

	return negative ? 64 - bits : 64 + bits;
}

__int128 dt_sums_lowest(unsigned bucket)
{
	if (bucket == 64)
		return 0;
	if (bucket > 64)
		return (__int128)1 << (bucket - 65);
	return 1 - ((__int128)1 << (64 - bucket));
}

static void add_value(struct dt_sums *s, struct dt_sums_one *u, struct dt_sums_row *row,
		      const struct dt_call_number *n)
{
	bool first = row->calls - row->unknown == 1; /* this call has been counted */
	bool time = u->words.value.what == DT_SUMS_TIME || u->words.value.what == DT_SUMS_SELF;

	row->real |= n->real;
	row->sum += n->number;
	row->least = first || n->number < row->least ? n->number : row->least;
	row->greatest = first || n->number > row->greatest ? n->number : row->greatest;
	row->floating.sum += n->floating;
	if (first || n->floating < row->floating.least)
		row->floating.least = n->floating;
	if (first || n->floating > row->floating.greatest)
		row->floating.greatest = n->floating;
	if (!row->bucket)
		return;
	if (time || n->real) {
		double v = n->floating * (time ? s->meanings.ns_per_tick : 1);

		row->bucket[v >= 0x1p64 ? 128 : v <= -0x1p64 ? 0 : dt_sums_bucket((__int128)v)]++;
		return;
	}
	row->bucket[dt_sums_bucket(n->number)]++;
}

/* ---- keys ---- */

/* A key that is being made: each part is a byte, what it is, and what this says. */
struct key {
	uint8_t bytes[KEY_MOST];
	uint32_t n;
};

static void put(struct key *k, const void *bytes, size_t n)
{
	memcpy(k->bytes + k->n, bytes, n);
	k->n += (uint32_t)n;
}

static void put_kind(struct key *k, uint8_t kind)
{
	k->bytes[k->n++] = kind;
}

static void put_number(struct key *k, __int128 v)
{
	uint64_t low = (uint64_t)v;

	put_kind(k, DT_SUMS_NUMBER);
	put_kind(k, v < 0);
	put(k, &low, sizeof(low));
}

static void put_real(struct key *k, double v)
{
	put_number(k, 0);
	k->bytes[k->n - 10] = DT_SUMS_REAL;
	memcpy(k->bytes + k->n - 8, &v, sizeof(v));
}

static void put_bytes(struct key *k, uint8_t kind, const void *bytes, size_t n)
{
	uint16_t length = (uint16_t)n;

	put_kind(k, kind);
	put(k, &length, sizeof(length));
	put(k, bytes, n);
}

_Static_assert(DT_SUMS_KEYS *(3 + DT_SUMS_TEXT) < KEY_MOST &&
		       4 * DT_SUMS_CALLERS_MOST <= DT_SUMS_TEXT,
	       "a key has room for all");

struct dt_sums_part dt_sums_part(const struct dt_sums_row *row, uint32_t *at)
{
	struct dt_sums_part p = {.kind = DT_SUMS_UNKNOWN};
	uint16_t length;

	if (*at >= row->n)
		return p;
	p.kind = row->key[(*at)++];
	if (p.kind == DT_SUMS_NUMBER || p.kind == DT_SUMS_REAL) {
		p.negative = row->key[(*at)++];
		memcpy(&p.number, row->key + *at, sizeof(p.number));
		*at += (uint32_t)sizeof(p.number);
	} else if (p.kind != DT_SUMS_UNKNOWN) {
		memcpy(&length, row->key + *at, sizeof(length));
		*at += (uint32_t)sizeof(length);
		p.bytes = row->key + *at;
		p.n = length;
		*at += length;
	}
	return p;
}

static void put_argument(struct dt_sums *s, struct dt_sums_one *u, unsigned which,
			 const struct dt_call *c, const struct dt_sums_around *a, struct key *k)
{
	const struct dt_sums_term *t = &u->words.key[which];
	struct dt_call_number v;
	const char *text;
	size_t n = 0;

	text = t->what == DT_SUMS_ARGUMENT && t->index == UINT32_MAX
		       ? dt_behind_text(a->behind, &s->meanings, t->name, &n)
		       : NULL;
	if (text)
		put_bytes(k, DT_SUMS_BYTES, text, n);
	else if (!read_value(s, u, t, 1 + which, c, a, &v))
		put_kind(k, DT_SUMS_UNKNOWN);
	else if (v.real)
		put_real(k, v.floating);
	else if (v.number < INT64_MIN || v.number > UINT64_MAX) /* a key has no room for it */
		put_kind(k, DT_SUMS_UNKNOWN);
	else
		put_number(k, v.number);
}

static void put_error(struct dt_sums *s, const struct dt_call *c, struct key *k)
{
	uint32_t error;
	enum dt_outcome outcome = dt_failures_outcome(&s->failures, c->function, c->result, &error);

	/* it is known that it failed, and not why */
	if (outcome == DT_OUTCOME_UNKNOWN || (outcome == DT_OUTCOME_FAILED && !error))
		put_kind(k, DT_SUMS_UNKNOWN);
	else
		put_number(k, error);
}

static void put_part(struct dt_sums *s, struct dt_sums_one *u, unsigned which,
		     const struct dt_call *c, const struct dt_sums_around *a, struct key *k)
{
	uint32_t around[DT_SUMS_CALLERS_MOST];
	unsigned n;

	switch (u->words.key[which].what) {
	case DT_SUMS_FUNCTION:
		put_number(k, c->function);
		break;
	case DT_SUMS_CALLER:
		n = a->callers(a->ctx, around, 1);
		if (n)
			put_number(k, around[0]);
		else
			put_kind(k, DT_SUMS_UNKNOWN);
		break;
	case DT_SUMS_CALLERS:
		n = a->callers(a->ctx, around, DT_SUMS_CALLERS_MOST);
		put_bytes(k, DT_SUMS_PATH, around, n * sizeof(*around));
		break;
	case DT_SUMS_THREAD:
		put_number(k, c->tid);
		break;
	case DT_SUMS_PROCESS:
		put_number(k, a->pid);
		break;
	case DT_SUMS_CORE:
		put_number(k, a->core);
		break;
	case DT_SUMS_DEPTH:
		put_number(k, c->depth + (__int128)1);
		break;
	case DT_SUMS_ERROR:
		put_error(s, c, k);
		break;
	default:
		put_argument(s, u, which, c, a, k);
	}
}

/* ---- rows ---- */

/* FNV-1a, from the seed on, mixed once more since the table uses the low bits. */
static uint64_t hash_of(const struct dt_sums *s, const struct key *k)
{
	uint64_t h = s->seed ^ 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < k->n; i++)
		h = (h ^ k->bytes[i]) * 0x100000001b3u;
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static bool is_key(const struct dt_sums_row *row, const struct key *k)
{
	return row->n == k->n && !memcmp(row->key, k->bytes, k->n);
}

/* Makes the table of slots larger, if that is due. False: out of memory. */
static bool grow_slots(const struct dt_sums *s, struct dt_sums_one *u)
{
	size_t size = u->size ? 4 * u->size : 64;
	struct dt_sums_row **slot;

	if (2 * (u->rows + 1u) <= u->size)
		return true;
	slot = calloc(size, sizeof(*slot));
	if (!slot)
		return false;
	for (uint32_t i = 0; i < u->rows; i++) {
		struct key k = {.n = u->row[i]->n};
		size_t at;

		memcpy(k.bytes, u->row[i]->key, k.n);
		for (at = hash_of(s, &k); slot[at & (size - 1)]; at++)
			;
		slot[at & (size - 1)] = u->row[i];
	}
	free(u->slot);
	u->slot = slot;
	u->size = size;
	return true;
}

static bool grow_rows(struct dt_sums_one *u)
{
	uint32_t room = u->room ? 2 * u->room : 64;
	struct dt_sums_row **more;

	if (u->rows < u->room)
		return true;
	more = realloc(u->row, room * sizeof(*more));
	if (!more)
		return false;
	u->row = more;
	u->room = room;
	return true;
}

static struct dt_sums_row *new_row(struct dt_sums *s, struct dt_sums_one *u, const struct key *k,
				   uint32_t function)
{
	struct dt_sums_row *row = malloc(sizeof(*row) + k->n);

	if (!row || !grow_rows(u))
		goto no_memory;
	*row = (struct dt_sums_row){.function = function, .number = u->rows, .n = k->n};
	if (u->words.hist && !(row->bucket = calloc(DT_SUMS_BUCKETS, sizeof(*row->bucket))))
		goto no_memory;
	memcpy(row->key, k->bytes, k->n);
	u->bytes +=
		sizeof(*row) + k->n + (row->bucket ? DT_SUMS_BUCKETS * sizeof(*row->bucket) : 0);
	return u->row[u->rows++] = row;
no_memory:
	free(row);
	s->no_memory = true;
	return NULL;
}

/* Returns the row of a key; NULL: there are too many, or memory is out. */
static struct dt_sums_row *row_of(struct dt_sums *s, struct dt_sums_one *u, const struct key *k,
				  uint32_t function)
{
	size_t at;

	if (!grow_slots(s, u)) {
		s->no_memory = true;
		return NULL;
	}
	for (at = hash_of(s, k); u->slot[at & (u->size - 1)]; at++)
		if (is_key(u->slot[at & (u->size - 1)], k))
			return u->slot[at & (u->size - 1)];
	if (u->rows == DT_SUMS_ROWS || u->bytes > DT_SUMS_ROOM)
		return NULL;
	return u->slot[at & (u->size - 1)] = new_row(s, u, k, function);
}

static void add(struct dt_sums *s, struct dt_sums_one *u, const struct dt_call *c,
		const struct dt_sums_around *a)
{
	struct dt_call_number n;
	struct dt_sums_row *row;
	struct key k;

	k.n = 0;
	for (unsigned i = 0; i < u->words.keys; i++)
		put_part(s, u, i, c, a, &k);
	u->totals.calls++;
	row = row_of(s, u, &k, c->function);
	if (!row) {
		u->totals.others++;
		return;
	}
	row->changed = true;
	row->calls++;
	if (row->function != c->function)
		row->function = 0;
	if (u->words.value.what == DT_SUMS_COUNT)
		return;
	if (value_of(s, u, c, a, &n))
		add_value(s, u, row, &n);
	else
		row->unknown++;
}

void dt_sums_end(struct dt_sums *s, const struct dt_call *c, uint32_t note,
		 const struct dt_sums_around *a)
{
	for (size_t i = 0; i < s->n; i++) {
		struct dt_sums_one *u = &s->sum[i];

		if (note >> DT_SUMS_BITS * i & DT_SUMS_COUNTS &&
		    (!u->filter || dt_filter_end(u->filter, c)))
			add(s, u, c, a);
	}
}

/* ---- what others have counted ---- */

static void put_given(struct key *k, const struct dt_sums_given *g, unsigned which)
{
	if (!g->key_known[which])
		put_kind(k, DT_SUMS_UNKNOWN);
	else
		put_number(k, g->key[which]);
}

static void give_values(struct dt_sums_row *row, const struct dt_sums_given *g)
{
	bool first = row->calls == row->unknown; /* these have not been counted */

	row->sum += g->sum;
	row->least = first || g->least < row->least ? g->least : row->least;
	row->greatest = first || g->greatest > row->greatest ? g->greatest : row->greatest;
	row->floating.sum += (double)g->sum;
	if (first || (double)g->least < row->floating.least)
		row->floating.least = (double)g->least;
	if (first || (double)g->greatest > row->floating.greatest)
		row->floating.greatest = (double)g->greatest;
	if (row->bucket && g->bucket < DT_SUMS_BUCKETS)
		row->bucket[g->bucket] += g->calls - g->unknown;
}

void dt_sums_give(struct dt_sums *s, size_t i, const struct dt_sums_given *g)
{
	struct dt_sums_one *u = &s->sum[i];
	struct dt_sums_row *row;
	struct key k;

	k.n = 0;
	for (unsigned which = 0; which < u->words.keys; which++)
		put_given(&k, g, which);
	u->totals.calls += g->calls;
	row = row_of(s, u, &k, g->function);
	if (!row) {
		u->totals.others += g->calls;
		return;
	}
	if (row->function != g->function)
		row->function = 0;
	row->changed = true;
	if (u->words.value.what != DT_SUMS_COUNT && g->calls > g->unknown)
		give_values(row, g);
	row->calls += g->calls;
	row->unknown += g->unknown;
}

void dt_sums_give_others(struct dt_sums *s, size_t i, uint64_t calls)
{
	s->sum[i].totals.calls += calls;
	s->sum[i].totals.others += calls;
}

struct dt_sums_totals dt_sums_totals(const struct dt_sums *s, size_t i)
{
	return s->sum[i].totals;
}

int dt_sums_each(struct dt_sums *s, size_t i, bool changed,
		 int (*fn)(void *ctx, const struct dt_sums_row *row), void *ctx)
{
	struct dt_sums_one *u = &s->sum[i];
	int rc = 0;

	for (uint32_t k = 0; k < u->rows && !rc; k++) {
		if (changed && !u->row[k]->changed)
			continue;
		rc = fn(ctx, u->row[k]);
		if (changed && !rc)
			u->row[k]->changed = false;
	}
	return rc;
}
