/* SPDX-License-Identifier: MIT */
/* Exits: which call one ends, and where the thread is then. */
#include "analyse/pair-work.h"

/* Returns the segment other than the current one that has exactly this frame; NULL: none has. */
static struct dt_segment *matching(const struct dt_thread_stack *t, uint64_t sp, uint32_t function)
{
	for (uint32_t i = 0; i < t->segments; i++) {
		struct dt_segment *s = t->segment[i];
		int64_t above = s == t->current ? -1 : dt_segment_above(s, sp);

		if (above >= 0 && s->frame[above].call.sp == sp &&
		    s->frame[above].call.function == function)
			return s;
	}
	return NULL;
}

/* Returns how many frames at the innermost one's sp are open because of a jump to the next one. */
static uint32_t chain_length(const struct dt_segment *s)
{
	uint32_t n = 1;

	while (n < s->n && s->frame[s->n - 1 - n].call.sp == s->frame[s->n - 1].call.sp)
		n++;
	return n;
}

/*
 * Handles a tail jump of the innermost call. If the chain of jumps is too long, the call ends here,
 * and the call before it waits for the other function in its place.
 */
static void jump(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint32_t lands)
{
	uint32_t site = p->span->site[p->at];
	struct dt_stack_frame *f;

	/* what it jumps to is not recorded just now */
	if (!lands || (p->offs && dt_pair_was_off(p, lands, p->now, p->now))) {
		dt_pair_pop_chain(p, t, s, DT_CALL_TAIL | DT_CALL_LEFT, site);
		return;
	}
	if (t->outside)
		dt_part_chain(t->outside, s, chain_length(s));
	if (chain_length(s) > DT_CALL_CHAIN)
		dt_pair_pop(p, t, s, DT_CALL_TAIL | DT_CALL_LEFT, site);
	f = dt_pair_top(s);
	f->jump = DT_JUMP_MADE;
	f->lands = lands;
}

/* Ends the innermost call of s by the record, which is its exit or a tail jump. */
void dt_pair_leave_call(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
			const struct fact *fact)
{
	if (__builtin_expect(fact->tail, 0))
		jump(p, t, s, fact->lands);
	else if (__builtin_expect(s->n > 1 && s->frame[s->n - 2].jump, 0))
		dt_pair_pop_chain(p, t, s, 0, p->span->site[p->at]);
	else
		dt_pair_pop(p, t, s, 0, p->span->site[p->at]);
	if (!s->n)
		dt_pair_leave_empty(t, s);
}

/*
 * Closes the frames at the sp of an exit that belongs to none of them: they have come to the
 * function of the exit by a jump, recorded or not. Returns whether the jump is known to have led
 * there, and only exits of its function are recorded: then the exit is the end of these calls, and
 * of no other.
 */
static bool replaced_by(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
			const struct fact *fact)
{
	struct dt_stack_frame *top = dt_pair_top(s);
	bool known = dt_pair_has_landed(t, top, fact->function);

	if (known && fact->tail && fact->lands)
		top->lands = fact->lands; /* it has jumped on */
	else if (known)
		dt_pair_pop_chain(p, t, s, DT_CALL_TAIL | (fact->tail ? DT_CALL_LEFT : 0),
				  p->span->site[p->at]);
	else
		dt_pair_pop_chain(p, t, s, DT_CALL_TAIL | DT_CALL_INFERRED, 0);
	return known && fact->exits_only;
}

/* Returns whether the frame can end by an exit at sp that moved its return address. */
static bool can_move(const struct dt_pair *p, const struct dt_thread_stack *t,
		     const struct dt_stack_frame *f, uint64_t sp)
{
	uint64_t way = sp > f->call.sp ? sp - f->call.sp : f->call.sp - sp;

	return f->losses == t->losses && way <= DT_STACK_NEAR &&
	       !(p->offs && dt_pair_was_off(p, f->call.function, f->call.begin, p->now));
}

/*
 * Returns the index of the frame, on the current segment, that ends by an exit at an sp at which no
 * frame is: its function has moved its return address. V8's functions take their arguments off the
 * stack, or push some and jump on, or leave a frame to whoever called them; libc's resolver of
 * names jumps on when it has taken off two words that were pushed for it; functions of GMP save
 * registers and jump into the middle of another one. -1: there is none.
 *
 * The exit is not that of an earlier call whose entry was not recorded if all are within a call
 * that was: the earlier one would have begun within it, too.
 */
static int64_t moved(const struct dt_pair *p, const struct dt_thread_stack *t, uint64_t sp,
		     const struct fact *fact)
{
	const struct dt_segment *s = t->current;
	const struct dt_stack_frame *f, *around;
	int64_t above = s ? dt_segment_above(s, sp) : -1, i = above + 1;

	if (!s || !s->n || dt_pair_in_kernel(sp))
		return -1;
	/* those below sp are gone with it: of several, it is the one next to sp */
	while (i < s->n && s->frame[i].call.function != fact->function)
		i++;
	/* it has left something on the stack, unless the exit is that of a part of the function
	 * that was called */
	if (i == s->n && above == s->n - 1 &&
	    !dt_reader_site(p->reader, p->span->site[p->at])->entered)
		i = above;
	f = i >= 0 && i < s->n ? &s->frame[i] : NULL;
	if (!f || f->call.function != fact->function || !can_move(p, t, f, sp))
		return -1;
	/* an earlier call can not be open below one that has begun after it */
	if (fact->tail && i == s->n - 1 && (sp < f->call.sp || sp - f->call.sp <= 16))
		return i;
	around = i ? f - 1 : dt_pair_below(s) >= 0 ? &s->below->frame[dt_pair_below(s)] : NULL;
	return around && around->losses == t->losses ? i : -1;
}

/* Ends the call whose function has moved its return address, if there is one. */
static bool leave_moved(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			const struct fact *fact)
{
	struct dt_segment *s = t->current;
	int64_t i = moved(p, t, sp, fact);

	if (i < 0)
		return false;
	dt_pair_unwind(p, t, s, s->frame[i].call.sp);
	dt_pair_pop_chain(p, t, s, fact->tail ? DT_CALL_TAIL | DT_CALL_LEFT : 0,
			  p->span->site[p->at]);
	dt_pair_leave_empty(t, s);
	return true;
}

void dt_pair_exit_elsewhere(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			    const struct fact *fact)
{
	uint32_t function = fact->function, tail = fact->tail ? DT_CALL_TAIL | DT_CALL_LEFT : 0;
	struct dt_segment *s = t->current;
	bool replaced, known = false;
	int64_t above;

	/* an exit in the kernel whose entry is not known: the program's calls stay as they were */
	if (s && s->n && dt_pair_in_kernel(sp) && !dt_pair_in_kernel(s->frame[0].call.sp)) {
		dt_pair_orphan(p, t, sp, function, tail | (dt_pair_lossy(t)));
		return;
	}
	dt_pair_cross(p, t, sp);
	s = t->current;
	above = s ? dt_segment_above(s, sp) : -1;
	replaced = above >= 0 && s->frame[above].call.sp == sp;
	if (replaced && s->frame[above].call.function == function) {
		dt_pair_unwind(p, t, s, sp);
		dt_pair_leave_call(p, t, s, fact);
		return;
	}
	s = matching(t, sp, function);
	if (s) {
		/*
		 * a nested segment that is left this way may be a coroutine's stack, or may be gone
		 */
		if (t->current && t->current->below == s)
			t->current->doubtful = true;
		dt_pair_unwind(p, t, s, sp);
		s->doubtful = false;
		dt_pair_unkeep(s);
		dt_stack_switch(t, s);
		dt_pair_leave_call(p, t, s, fact);
		return;
	}
	if (!replaced && leave_moved(p, t, sp, fact))
		return;
	s = t->current;
	if (s && s->n &&
	    (above >= 0 ? s->frame[above].call.sp - sp <= DT_STACK_NEAR
			: sp - s->frame[0].call.sp <= DT_STACK_NEAR)) {
		dt_pair_unwind(p, t, s, sp);
		known = replaced && replaced_by(p, t, s, fact);
	}
	if (!known)
		dt_pair_orphan(p, t, sp, function, tail | (dt_pair_lossy(t)));
	if (s && !s->n)
		dt_pair_leave_empty(t, s);
}

/* Returns the segment that was left by swapcontext() and whose innermost frame is at sp; NULL:
 * there is none. */
static struct dt_segment *left_at(const struct dt_pair *p, const struct dt_thread_stack *t,
				  uint64_t sp)
{
	for (uint32_t i = 0; i < t->segments; i++) {
		struct dt_segment *s = t->segment[i];
		const struct dt_call *c = s->n ? &s->frame[s->n - 1].call : NULL;

		if (c && c->sp == sp && c->entry < p->facts && p->fact[c->entry].keeps)
			return s;
	}
	return NULL;
}

/*
 * Handles an exit of swapcontext(), setcontext() or longjmp(): the thread goes on where its stack
 * pointer is. That is where a call of swapcontext() has left another stack, or the same one;
 * otherwise a new stack begins there, or getcontext() or setjmp() was called there, which the next
 * record tells. The stack that is left will be the same when the thread comes back, wherever it
 * lies: even in an array of a call that goes on meanwhile.
 */
void dt_pair_arrive(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
		    const struct fact *fact)
{
	uint32_t site = p->span->site[p->at];
	struct dt_segment *from = t->current, *to = left_at(p, t, sp);
	struct dt_stack_frame *top = from ? dt_pair_top(from) : NULL;
	const struct fact *left =
		top && top->call.entry < p->facts ? &p->fact[top->call.entry] : NULL;
	bool ended = left && left->arrives && !left->keeps;

	t->tail_sp = 0;
	if (ended) /* the call does not return: this is its exit */
		dt_pair_pop(p, t, from, fact->tail ? DT_CALL_TAIL | DT_CALL_LEFT : 0, site);
	else if (left && left->keeps && from != to)
		dt_pair_keep(from);
	if (from && from != to && !from->n)
		dt_segment_drop(t, from);
	else if (ended && from != to)
		from->doubtful = true; /* most likely it is gone */
	dt_stack_switch(t, to);
	if (!to) {
		if (!ended)
			dt_pair_orphan(p, t, sp, fact->function,
				       dt_pair_lossy(t) | DT_CALL_OTHER_STACK |
					       (fact->tail ? DT_CALL_TAIL | DT_CALL_LEFT : 0));
		t->tail_sp = sp;
		t->tail_lands = DT_LANDS_STACK;
		return;
	}
	to->doubtful = false;
	dt_pair_unkeep(to);
	if (ended || dt_pair_top(to)->call.function != fact->function) {
		dt_pair_pop(p, t, to, DT_CALL_TAIL, site);
		dt_pair_leave_empty(t, to);
	} else {
		dt_pair_leave_call(p, t, to, fact);
	}
}
