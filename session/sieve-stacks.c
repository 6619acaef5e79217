/* SPDX-License-Identifier: MIT */
/*
 * The sieve's stacks: the hooks copy a piece of the stack before the exit of each call whose stack
 * may be wanted. Its records are put together here, and when the call's exit says that it is one of
 * those, its callers are found and written.
 */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#include "session/describe.h"
#include "session/unwinder.h"

#define WHOLE (1u << DT_STACK_REGISTERS | 1u << DT_STACK_FURTHER | 1u << DT_STACK_HEAD)

bool dt_sieve_find_stack(struct dt_sieve *v, const struct dt_record *r, struct dt_store_place *at)
{
	if (r->kind != DT_MORE || !v->session->unwinder)
		return false;
	*at = (struct dt_store_place){.place = (uint8_t)dt_describe_stack(v->session, r)};
	return at->place;
}

void dt_sieve_free_copy(struct dt_sieve *v, struct sieve_thread *t)
{
	if (t->copy)
		v->copies--;
	free(t->copy);
	t->copy = NULL;
}

/* Begins a copy; an older one of the thread was not finished. */
static void begin(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r)
{
	if (!t->copy) {
		if (v->copies == SIEVE_COPIES)
			return;
		t->copy = malloc(sizeof(*t->copy) + v->session->stack_points.size);
		if (!t->copy)
			return;
		v->copies++;
	}
	t->copy->sp = r->sp;
	t->copy->ticks = t->copy->exit = r->ticks;
	t->copy->has = 0;
	t->copy->n = 0;
	t->copy->losses = v->losses;
}

/* Adds the record's bytes, of which the first `head' are none. */
static void add(struct dt_sieve *v, struct sieve_copy *k, const struct dt_record *r, size_t head)
{
	size_t n = sizeof(r->value) - head, room = v->session->stack_points.size - k->n;

	if (r->flags & DT_FAULT)
		return;
	n = n < room ? n : room;
	memcpy(k->bytes + k->n, (const char *)r->value + head, n);
	k->n += (uint32_t)n;
}

/* Returns the verdict on the record that tells when a call was done, with a reference: that on the
 * call. */
static uint32_t verdict_of(struct dt_sieve *v, const struct sieve_thread *t, uint64_t sp)
{
	const struct stack *s = t->now;

	return s && s->n && s->frame[s->n - 1].sp == sp
		       ? dt_verdict_hold(v, s->frame[s->n - 1].verdict)
		       : VERDICT_TAKEN;
}

uint32_t dt_sieve_take_stack(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
			     const struct dt_store_place *at)
{
	struct sieve_copy *k;

	if (at->place == DT_STACK_LEAVING)
		begin(v, t, r);
	if (at->place == DT_STACK_LEAVING)
		return t->whole ? VERDICT_KEEP : verdict_of(v, t, r->sp);
	k = t->copy;
	if (!k || k->sp != r->sp)
		return VERDICT_TAKEN;
	k->has |= 1u << at->place;
	if (at->place == DT_STACK_REGISTERS)
		memcpy(k->kept, r->value, sizeof(r->value));
	else if (at->place == DT_STACK_FURTHER)
		memcpy(k->kept + 4, r->value, sizeof(k->kept) - sizeof(r->value));
	else
		add(v, k, r, at->place == DT_STACK_HEAD ? 8 : 0);
	return VERDICT_TAKEN;
}

void dt_sieve_end_copy(const struct sieve_thread *t, struct ending *how, uint64_t sp)
{
	if (!t->copy || t->copy->sp != sp)
		return;
	t->copy->exit = how->ticks;
	how->ticks = t->copy->ticks;
}

void dt_sieve_keep_stack(struct dt_sieve *v, const struct sieve_thread *t, const struct dt_call *c,
			 uint32_t pid)
{
	const struct sieve_copy *k = t->copy;
	struct dt_unwinder_call call = {.tid = c->tid, .pid = pid, .function = c->function};

	if (!k || k->sp != c->sp || (k->has & WHOLE) != WHOLE || k->losses != v->losses ||
	    !c->result) {
		v->counts.stackless++;
		return;
	}
	call.ticks = k->exit;
	memcpy(call.kept, k->kept, sizeof(call.kept));
	/* a record's sp is that of the hook, which is called */
	call.stack = (struct dt_unwind_stack){c->sp + 8, k->bytes, k->n};
	call.cut = k->n == v->session->stack_points.size;
	v->counts.stacks++;
	/* a failure is the store's, which says it again when records are put */
	dt_unwinder_keep(v->session->unwinder, &call, NULL);
}
