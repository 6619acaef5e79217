/* SPDX-License-Identifier: MIT */
/*
 * Calls in which nothing else is recorded: the exit follows the entry in the same ring. Most calls
 * are such, and both records can be chosen among at once, without a frame and a verdict of their
 * own. What comes of it is what dt_sieve_judge() would say of one record and then of the other.
 */
#include "session/sieve-work.h"

/* Looks whether the records of a thread are to be judged one by one. */
static bool needs_care(const struct dt_sieve *v, const struct sieve_thread *t, uint32_t function)
{
	return (v->sums && !dt_sieve_sums_simple(v)) || v->filter_texts || v->requests ||
	       t->whole || t->alone.call || t->alone.verdict >= VERDICT_FIRST ||
	       v->frames >= FRAMES ||
	       (function < v->functions && !v->one_rule && v->changes_stack[function]);
}

/* Makes the beginning of a call, c, all of it. held: ticks of it in which devtrace had the thread
 * wait */
static void end_call(struct dt_call *c, const struct dt_record *exit, uint64_t held)
{
	c->end = exit->ticks;
	c->held = held;
	c->result = exit->value;
	c->flags = 0;
}

/* Returns whether the call is wanted; c and held as of end_call(). */
static bool is_wanted(struct dt_sieve *v, struct dt_call *c, uint16_t core, uint32_t around,
		      const struct dt_record *exit, uint64_t held)
{
	if (!v->anywhere && !dt_filter_place(v->filter, core, c->tid))
		return false;
	if (!dt_filter_begin(v->filter, c, around))
		return false;
	if (!v->looks_at_end)
		return true;
	end_call(c, exit, held);
	return dt_filter_end(v->filter, c);
}

bool dt_sieve_judge_leaf(struct dt_sieve *v, const struct dt_record *entry,
			 const struct dt_record *exit, unsigned core, uint32_t function,
			 uint32_t *verdict)
{
	struct sieve_thread *t = dt_sieve_thread_of(v, entry, core);
	uint64_t ticks = exit->ticks - entry->ticks, held = 0;
	struct dt_call *c = &v->call;
	struct frame *caller;
	struct stack *s;
	uint32_t *open, note = 0;

	if (!t || needs_care(v, t, function) || !(open = dt_sieve_open_count(t, function)) ||
	    !(s = dt_sieve_place(v, t, entry->sp)))
		return false;
	if (s->n && s->frame[s->n - 1].sp == entry->sp && s->frame[s->n - 1].jumped)
		return false;
	if (!dt_sieve_held_none(t, t->last_ticks, exit->ticks) &&
	    !dt_sieve_held_look(t, t->last_ticks, exit->ticks)) {
		t->captured += dt_sieve_held_behind(t, t->last_ticks, entry->ticks);
		held = dt_sieve_held_behind(t, entry->ticks, exit->ticks);
		t->captured += held;
		held += dt_sieve_held_between(t, entry->ticks, exit->ticks, UINT64_MAX);
	}
	held = held < ticks ? held : ticks;
	ticks -= held;
	t->last_ticks = exit->ticks;
	t->leaving = false;
	dt_sieve_unwind(v, t, s, entry->sp, true, entry->ticks);
	if (!s->n)
		dt_sieve_stack_empty(v, s);
	caller = s->n ? &s->frame[s->n - 1] : NULL;
	dt_sieve_call_at(v, entry, function, s->depth + s->n);
	if (v->sums)
		note = dt_sums_begin(v->sums, c, caller ? caller->note : s->note);
	*verdict = is_wanted(v, c, dt_sieve_core(entry, core), caller ? caller->around : s->around,
			     exit, held)
			   ? VERDICT_KEEP
			   : VERDICT_DROP;
	if (*verdict == VERDICT_DROP)
		dt_sieve_count(v, function, ticks, 0, *open == 0);
	if (dt_sums_counts(note)) {
		end_call(c, exit, held);
		dt_sieve_sums_leaf(v, c, note, s, core);
	}
	if (caller)
		caller->children += ticks;
	s->deeper = 0;
	dt_sieve_remember(v, t, entry->sp, *verdict);
	if (!s->n && t->stacks > 1)
		dt_sieve_remove_stack(v, t, s);
	return true;
}
