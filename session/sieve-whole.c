/* SPDX-License-Identifier: MIT */
/*
 * Threads that change their stacks (swapcontext()): by the rules of sieve-calls.c an entry could be
 * taken for one on another stack, so from then on all of their calls are written, and readers pair
 * them.
 */
#include "session/sieve-work.h"

#include <string.h>

void dt_sieve_make_whole(struct dt_sieve *v, struct sieve_thread *t)
{
	const struct ending gone = {v->now, NULL, DT_CALL_LOSS};

	t->whole = true;
	v->counts.whole++;
	if (t->in_request) {
		dt_sieve_decide(v, t->request, true);
		dt_sieve_request_end(v, t);
	}
	for (uint32_t i = 0; i < t->stacks; i++) {
		struct stack *s = t->stack[i];
		uint32_t n = 0;

		for (uint32_t k = 0; k < s->n; k++) {
			dt_sieve_decide(v, s->frame[k].verdict, true);
			dt_sieve_tell_sums(v, t, s, &s->frame[k], &gone);
			if (dt_verdict_is(v, s->frame[k].verdict) == VERDICT_DROP)
				s->frame[n++] = s->frame[k];
			else
				dt_verdict_drop(v, s->frame[k].verdict);
		}
		v->frames -= s->n - n;
		s->n = n;
	}
}

/* Returns the frame of a whole thread that a record may belong to, and its stack; NULL: there is
 * none. */
static struct frame *left_frame(struct sieve_thread *t, uint64_t sp, uint32_t function,
				struct stack **s)
{
	for (uint32_t i = 0; i < t->stacks; i++) {
		*s = t->stack[i];
		for (uint32_t k = (*s)->n; k-- > 0;)
			if ((*s)->frame[k].sp == sp && (*s)->frame[k].function == function)
				return &(*s)->frame[k];
	}
	return NULL;
}

/* Counts a call of a whole thread: its end, and what it is made in, are not known. */
static void sum_whole(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
		      unsigned core, const struct dt_store_place *at)
{
	const struct dt_call c = {
		.tid = r->tid, .function = at->function, .sp = r->sp, .argument = r->value};

	t->alone = (struct frame){.sp = r->sp,
				  .begin = r->ticks,
				  .held = dt_sieve_held_at(t, r->ticks),
				  .captured = t->captured,
				  .function = at->function};
	t->alone_stack = NULL;
	dt_sieve_sums_begin(v, &t->alone, &c, dt_sums_nobody(v->sums), r, core);
}

uint32_t dt_sieve_judge_whole(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
			      unsigned core, const struct dt_store_place *at)
{
	struct stack *s;
	struct frame *f = left_frame(t, r->sp, at->function, &s);

	if (r->kind == DT_ENTRY && v->sums)
		sum_whole(v, t, r, core, at);
	if (!f && !v->changes_stack[at->function] && !dt_filter_function(v->filter, at->function)) {
		if (r->kind == DT_ENTRY)
			dt_sieve_count(v, at->function, UINT64_MAX, 0, true);
		return VERDICT_DROP;
	}
	if (!f)
		return VERDICT_KEEP;
	if (r->kind == DT_ENTRY) {
		f->again++;
		return VERDICT_KEEP;
	}
	if (at->place == DT_SITE_TAIL)
		return f->again ? VERDICT_KEEP : VERDICT_DROP;
	if (f->again) {
		f->again--;
		return VERDICT_KEEP;
	}
	dt_sieve_count(v, f->function,
		       r->ticks > f->begin ? r->ticks - f->begin - dt_sieve_held_in(t, f, r->ticks)
					   : 0,
		       f->children, true);
	dt_verdict_drop(v, f->verdict);
	s->n--;
	v->frames--;
	memmove(f, f + 1, (size_t)(&s->frame[s->n] - f) * sizeof(*f));
	return VERDICT_DROP;
}
