/* SPDX-License-Identifier: MIT */
/* The sieve's threads and their stacks: which of a thread's stacks a record is on is decided by an
 * exact match, or else by nearness. */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#define FAR (4u << 20) /* bytes: see DT_STACK_FAR */

/* ---- threads ---- */

static struct sieve_thread **thread_slot(struct sieve_thread **table, size_t size, uint64_t key)
{
	for (size_t i = (key * 0x9e3779b97f4a7c15u) >> 32;; i++) {
		struct sieve_thread **t = &table[i & (size - 1)];

		if (!*t || (*t)->key == key)
			return t;
	}
}

static bool grow_threads(struct dt_sieve *v)
{
	size_t size = v->thread_room ? 2 * v->thread_room : 256;
	struct sieve_thread **table = calloc(size, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < v->thread_room; i++)
		if (v->thread[i])
			*thread_slot(table, size, v->thread[i]->key) = v->thread[i];
	free(v->thread);
	v->thread = table;
	v->thread_room = size;
	return true;
}

struct sieve_thread *dt_sieve_thread_found(struct dt_sieve *v, const struct dt_record *r,
					   unsigned core)
{
	uint64_t key = r->tid == DT_NO_TID ? 1ull << 32 | core : r->tid;
	struct sieve_thread **slot;

	if (2 * v->threads >= v->thread_room && !grow_threads(v))
		return NULL;
	slot = thread_slot(v->thread, v->thread_room, key);
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			return NULL;
		(*slot)->key = key;
		v->threads++;
	}
	return v->last = *slot;
}

static void free_stack(struct dt_sieve *v, struct stack *s)
{
	v->frames -= s->n;
	while (s->n) {
		dt_verdict_drop(v, s->frame[--s->n].verdict);
		dt_sieve_sums_forget(v, &s->frame[s->n]);
	}
	free(s->frame);
	free(s);
}

void dt_sieve_free_thread(struct dt_sieve *v, struct sieve_thread *t)
{
	for (uint32_t k = 0; k < t->stacks; k++)
		free_stack(v, t->stack[k]);
	if (t->in_request)
		dt_sieve_request_end(v, t);
	dt_verdict_drop(v, t->last_verdict);
	dt_sieve_sums_forget(v, &t->alone);
	dt_sieve_free_copy(v, t);
	free(t->stack);
	free(t->hold);
	free(t->open);
	free(t);
}

void dt_sieve_pack_threads(struct dt_sieve *v)
{
	struct sieve_thread **table = v->thread;
	size_t room = v->thread_room;

	v->last = NULL;
	v->thread = calloc(room, sizeof(*table));
	if (!v->thread) { /* the gaps stay: a thread may be there twice, which costs its open calls
			   */
		v->thread = table;
		return;
	}
	v->threads = 0;
	for (size_t i = 0; i < room; i++)
		if (table[i]) {
			*thread_slot(v->thread, room, table[i]->key) = table[i];
			v->threads++;
		}
	free(table);
}

void dt_sieve_free_threads(struct dt_sieve *v)
{
	for (size_t i = 0; i < v->thread_room; i++)
		if (v->thread[i])
			dt_sieve_free_thread(v, v->thread[i]);
	free(v->thread);
}

uint32_t *dt_sieve_open_counter(struct sieve_thread *t, uint32_t function)
{
	if (function >= t->opens) {
		uint32_t n = function + 1 + function / 2;
		uint32_t *more = realloc(t->open, n * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + t->opens, 0, (n - t->opens) * sizeof(*more));
		t->open = more;
		t->opens = n;
	}
	return &t->open[function];
}

/* ---- stacks ---- */

void dt_sieve_remove_stack(struct dt_sieve *v, struct sieve_thread *t, struct stack *s)
{
	if (t->alone_stack == s)
		t->alone_stack = NULL;
	for (uint32_t i = 0; i < t->stacks; i++)
		if (t->stack[i] == s)
			t->stack[i] = t->stack[--t->stacks];
	if (t->now == s)
		t->now = NULL;
	free_stack(v, s);
}

/* Gives up the stack that was unused for longest: what is open there is kept. */
static void give_up(struct dt_sieve *v, struct sieve_thread *t)
{
	const struct ending gone = {v->now, NULL, DT_CALL_LOSS};
	struct stack *oldest = t->stack[0];

	for (uint32_t i = 1; i < t->stacks; i++)
		if (t->stack[i]->used < oldest->used)
			oldest = t->stack[i];
	for (uint32_t i = 0; i < oldest->n; i++) {
		uint32_t *open = dt_sieve_open_count(t, oldest->frame[i].function);

		if (open && *open)
			--*open;
		dt_sieve_decide(v, oldest->frame[i].verdict, true);
		if (oldest->frame[i].request)
			dt_sieve_request_end(v, t);
		dt_sieve_tell_sums(v, t, oldest, &oldest->frame[i], &gone);
	}
	dt_sieve_remove_stack(v, t, oldest);
}

static struct stack *new_stack(struct dt_sieve *v, struct sieve_thread *t, bool kernel)
{
	struct stack *s;

	if (t->stacks == MANY)
		give_up(v, t);
	if (t->stacks == t->room) {
		uint32_t room = t->room ? 2 * t->room : STACKS;
		struct stack **more = realloc(t->stack, room * sizeof(struct stack *));

		if (!more)
			return NULL;
		t->stack = more;
		t->room = room;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->kernel = kernel;
	s->around = (uint8_t)dt_filter_nobody(v->filter);
	s->note = v->sums ? dt_sums_nobody(v->sums) : 0;
	if (kernel && t->now && t->now->n) {
		s->note = t->now->frame[t->now->n - 1].note;
		s->depth = t->now->depth + t->now->n;
		s->around = t->now->frame[t->now->n - 1].around;
	}
	t->stack[t->stacks] = s;
	t->stacks++;
	return s;
}

/* Returns how far above sp the nearest frame of a stack is; UINT64_MAX: there is none. */
static uint64_t distance(const struct stack *s, uint64_t sp)
{
	uint32_t i = s->n;

	while (i && s->frame[i - 1].sp < sp)
		i--;
	return i ? s->frame[i - 1].sp - sp : UINT64_MAX;
}

static struct stack *use(struct sieve_thread *t, struct stack *s)
{
	if (s && t->now != s)
		s->used = ++t->switches;
	return t->now = s;
}

struct stack *dt_sieve_place_found(struct dt_sieve *v, struct sieve_thread *t, uint64_t sp)
{
	struct stack *best = NULL, *s;
	uint64_t least = FAR;

	for (uint32_t i = 0; i < t->stacks; i++) {
		uint64_t d = t->stack[i]->kernel == dt_sieve_is_kernel(sp)
				     ? distance(t->stack[i], sp)
				     : UINT64_MAX;

		if (d < least || (d == least && t->stack[i] == t->now)) {
			best = t->stack[i];
			least = d;
		}
	}
	for (uint32_t i = 0; i < t->stacks && !best; i++) {
		s = t->stack[i];
		/* all of it is a little below: gone, unwound on its own stack */
		if (s->kernel == dt_sieve_is_kernel(sp) &&
		    (!s->n || (s->frame[0].sp < sp && sp - s->frame[0].sp <= SIEVE_NEAR)))
			best = s;
	}
	return use(t, best ? best : new_stack(v, t, dt_sieve_is_kernel(sp)));
}

static bool has_frame(const struct stack *s, uint64_t sp, uint32_t function)
{
	uint32_t i = s->n;

	while (i && s->frame[i - 1].sp < sp)
		i--;
	for (; i && s->frame[i - 1].sp == sp; i--)
		if (s->frame[i - 1].function == function)
			return true;
	return false;
}

struct stack *dt_sieve_stack_of(struct sieve_thread *t, uint64_t sp, uint32_t function)
{
	struct stack *s = t->now;

	if (s && has_frame(s, sp, function))
		return s;
	for (uint32_t i = 0; i < t->stacks; i++)
		if (t->stack[i] != s && has_frame(t->stack[i], sp, function))
			return use(t, t->stack[i]);
	/* by a jump that was not recorded, a function has come to another one's exit */
	return s && distance(s, sp) == 0 ? s : NULL;
}
