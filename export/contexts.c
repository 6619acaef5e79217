/* SPDX-License-Identifier: MIT */
#include "export/contexts.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"

enum carrier_kind {
	ADOPTED, /* the call is done for the span */
	TURN,	 /* from here on, what the owner does is done for the span */
	FURTHER, /* what it is in is done for an earlier span of the same trace */
	CARRIED, /* nothing has been decided yet: it makes no calls itself */
};

struct dt_carrier {
	uint64_t call, owner; /* owner: the innermost written call around it; 0: there is none */
	struct dt_span_context span;
	enum carrier_kind kind;
};

/* ---- texts ---- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Tells whether n hexadecimal digits that are not all 0 begin at s; at its end is a NUL, or the
 * text goes on. */
static bool is_number(const char *s, size_t n)
{
	return strspn(s, "0123456789abcdef") == n && strspn(s, "0") < n;
}

bool dt_span_context_find(struct dt_span_context *to, const char *text, size_t n)
{
	enum { TRACE = 3, SPAN = 36, FLAGS = 53, LENGTH = 55 };
	const char *end = text + n, *p = text;
	char word[LENGTH + 1];

	while ((p = memmem(p, (size_t)(end - p), "00-", 3)) && end - p >= LENGTH) {
		memcpy(word, p, LENGTH);
		word[LENGTH] = 0;
		if ((p == text || !is_hex(p[-1])) && word[SPAN - 1] == '-' &&
		    word[FLAGS - 1] == '-' && (word[SPAN - 1] = 0, is_number(word + TRACE, 32)) &&
		    (word[FLAGS - 1] = 0, is_number(word + SPAN, 16)) &&
		    strspn(word + FLAGS, "0123456789abcdef") == 2 &&
		    (end - p == LENGTH || !is_hex(p[LENGTH]))) {
			memcpy(to->trace, word + TRACE, sizeof(to->trace));
			memcpy(to->span, word + SPAN, sizeof(to->span));
			return true;
		}
		p++;
	}
	return false;
}

/* ---- the first pass: who carries spans ---- */

static bool is_written(const struct dt_contexts *x, const struct dt_call *c)
{
	return !x->chosen || dt_chosen_has(x->chosen, c->id);
}

/* In the first pass, the first word of a call's note tells whether it has made a call. */
static bool note_calls(void *ctx, const struct dt_call *c)
{
	c->note[0] = 1;
	return false;
}

static void on_begin(void *ctx, struct dt_pair *pair, const struct dt_call *c)
{
	dt_pair_callers(pair, note_calls, NULL);
}

struct search {
	const struct dt_contexts *x;
	uint64_t found;
};

static bool find_written(void *ctx, const struct dt_call *c)
{
	struct search *s = ctx;

	if (!is_written(s->x, c))
		return true;
	s->found = c->id;
	return false;
}

static bool on_row(void *ctx, const struct dt_row *row)
{
	struct dt_contexts *x = ctx;
	struct search owner = {.x = x};
	struct dt_span_context span;

	if (!row || !row->call || !dt_span_context_find(&span, row->text, row->text_n))
		return true;
	x->carrier =
		dt_array_grown(x->carrier, x->n, &x->room, 16, sizeof(*x->carrier), &x->no_memory);
	if (x->no_memory)
		return false;
	dt_pair_callers(row->pair, find_written, &owner);
	x->carrier[x->n++] =
		(struct dt_carrier){row->call, owner.found, span,
				    row->made->note[0] || !owner.found ? ADOPTED : CARRIED};
	return true;
}

static int by_call(const void *a, const void *b)
{
	const struct dt_carrier *x = a, *y = b;

	return (x->call > y->call) - (x->call < y->call);
}

static int by_owner(const void *a, const void *b)
{
	const struct dt_carrier *const *x = a, *const *y = b;

	return (*x)->owner != (*y)->owner
		       ? ((*x)->owner > (*y)->owner) - ((*x)->owner < (*y)->owner)
		       : by_call(*x, *y);
}

static struct dt_carrier *find(const struct dt_contexts *x, uint64_t call)
{
	const struct dt_carrier key = {.call = call};

	return x->n ? bsearch(&key, x->carrier, x->n, sizeof(key), by_call) : NULL;
}

/* Decides for the calls that carry spans for one owner, of which it has got no span itself. */
static void decide(struct dt_carrier **k, size_t n, const struct dt_carrier *owner)
{
	const char *trace = owner ? owner->span.trace : k[0]->span.trace;
	bool one = true;

	for (size_t i = 0; i < n; i++)
		one = one && strcmp(k[i]->span.trace, trace) == 0;
	for (size_t i = 0; i < n; i++)
		k[i]->kind = one ? FURTHER : TURN;
}

/* Adds the owners that are done for a span as a whole, and leaves the list sorted. Returns false
 * without memory. */
static bool decide_all(struct dt_contexts *x)
{
	struct dt_carrier **order = malloc((x->n + 1) * sizeof(struct dt_carrier *)), *more;
	size_t n = 0, owners = 0;

	more = calloc(2 * x->n + 1, sizeof(*more));
	if (!order || !more)
		goto out;
	if (x->n)
		qsort(x->carrier, x->n, sizeof(*x->carrier), by_call);
	for (size_t i = 0; i < x->n; i++)
		if (x->carrier[i].kind == CARRIED)
			order[n++] = &x->carrier[i];
	if (n)
		qsort(order, n, sizeof(struct dt_carrier *), by_owner);
	for (size_t i = 0, next; i < n; i = next) {
		const struct dt_carrier *own = find(x, order[i]->owner);

		for (next = i + 1; next < n && order[next]->owner == order[i]->owner;)
			next++;
		decide(order + i, next - i, own);
		if (!own && order[i]->kind == FURTHER)
			more[owners++] =
				(struct dt_carrier){order[i]->owner, 0, order[i]->span, ADOPTED};
	}
	if (x->n)
		memcpy(more + owners, x->carrier, x->n * sizeof(*more));
	if (owners)
		qsort(more, owners + x->n, sizeof(*more), by_call);
	free(x->carrier);
	x->carrier = more;
	x->n += owners;
	more = NULL;
out:
	x->no_memory |= !order || more;
	free(order);
	free(more);
	return !x->no_memory;
}

int dt_contexts_read(struct dt_contexts *x, struct dt_reader *r, struct dt_formats *formats,
		     struct dt_error *e)
{
	const struct dt_rows_events events = {.row = on_row, .begin = on_begin, .ctx = x};
	int rc = dt_rows_run(r, formats, NULL, &events, e);

	if (rc)
		return rc;
	return x->no_memory || !decide_all(x) ? dt_fail(e, "out of memory") : 0;
}

void dt_contexts_free(struct dt_contexts *x)
{
	free(x->carrier);
	free(x->root);
	free(x->unused);
}

/* ---- the second pass ---- */

/*
 * A call's note: [0] is what it is done for, [1] what it does from now on, if that is something
 * else. 0: nothing; up to x->n: 1 + number of a carrier; above: 1 + x->n + number of a root.
 */

static uint32_t new_root(struct dt_contexts *x, uint64_t call)
{
	size_t room = x->root_room;
	uint32_t i;

	if (x->unused_n) {
		i = x->unused[--x->unused_n];
	} else {
		/* both arrays have the same room */
		x->root = dt_array_grown(x->root, x->roots, &x->root_room, 64, sizeof(*x->root),
					 &x->no_memory);
		x->unused = dt_array_grown(x->unused, x->roots, &room, 64, sizeof(*x->unused),
					   &x->no_memory);
		if (x->no_memory)
			return 0;
		i = x->roots++;
	}
	x->root[i] = call;
	return (uint32_t)(1 + x->n + i);
}

struct turning {
	uint64_t owner;
	uint32_t to;
};

static bool turn(void *ctx, const struct dt_call *c)
{
	const struct turning *t = ctx;

	c->note[1] = t->to;
	return c->id != t->owner;
}

static bool is_same(const struct dt_span_context *a, const struct dt_span_context *b)
{
	return strcmp(a->trace, b->trace) == 0 && strcmp(a->span, b->span) == 0;
}

void dt_contexts_begin(struct dt_contexts *x, struct dt_pair *pair, const struct dt_call *c)
{
	const uint32_t *around = dt_pair_caller_note(pair);
	const struct dt_carrier *own = find(x, c->id);

	if (around)
		c->note[0] = around[1] ? around[1] : around[0];
	/* handed on to a callee, it is the same span still */
	if (own && own->kind <= TURN &&
	    !(c->note[0] && c->note[0] <= x->n &&
	      is_same(&own->span, &x->carrier[c->note[0] - 1].span)))
		c->note[0] = (uint32_t)(1 + (own - x->carrier));
	if (own && own->kind == TURN)
		dt_pair_callers(pair, turn, &(struct turning){own->owner, c->note[0]});
	if (!c->note[0] && x->chosen && is_written(x, c))
		c->note[0] = new_root(x, c->id);
}

/* Says what a note's first word stands for. */
static void read_note(const struct dt_contexts *x, uint32_t note,
		      const struct dt_span_context **span, uint64_t *root)
{
	if (note > x->n)
		*root = x->root[note - 1 - x->n];
	else if (note)
		*span = &x->carrier[note - 1].span;
}

void dt_contexts_end(struct dt_contexts *x, const struct dt_call *c)
{
	uint32_t note = c->note ? c->note[0] : 0;

	if (note > x->n && x->root[note - 1 - x->n] == c->id)
		x->unused[x->unused_n++] = (uint32_t)(note - 1 - x->n);
}

struct around {
	const struct dt_contexts *x;
	struct dt_call_context *to;
};

static bool take_written(void *ctx, const struct dt_call *c)
{
	const struct around *a = ctx;
	struct dt_call_context *to = a->to;

	if (!is_written(a->x, c))
		return true;
	to->caller = c->id;
	read_note(a->x, c->note[0], &to->caller_span, &to->caller_root);
	if (to->span && to->caller_span)
		to->inside = is_same(to->span, to->caller_span);
	else
		to->inside = !to->span && !to->caller_span && to->root == to->caller_root;
	return false;
}

void dt_contexts_of(const struct dt_contexts *x, struct dt_pair *pair, const struct dt_call *c,
		    struct dt_call_context *to)
{
	const uint32_t *outer = dt_pair_caller_note(pair);
	const struct dt_carrier *own = c->id ? find(x, c->id) : NULL;
	struct around around = {.x = x, .to = to};
	uint32_t note = 0;

	*to = (struct dt_call_context){0};
	if (c->note)
		note = c->note[0];
	else if (outer)
		note = outer[1] ? outer[1] : outer[0];
	read_note(x, note, &to->span, &to->root);
	if (own && own->kind == FURTHER && to->span && !is_same(&own->span, to->span))
		to->carried = &own->span;
	dt_pair_callers(pair, take_written, &around);
}
