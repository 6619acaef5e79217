/* SPDX-License-Identifier: MIT */
/* Entries: which stack a new call is on, and which calls are gone because of it. */
#include "analyse/pair-work.h"

#define STACK_LEAST    2048 /* the least bytes that a stack has (MINSIGSTKSZ) */
#define ARGUMENTS_MOST 128  /* the most bytes of arguments on a stack below its first call */

/* Closes the frames of other segments that a new frame at sp lies over: they are gone. */
static void bury(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint64_t caller_sp)
{
	for (uint32_t i = 0; i < t->segments;) {
		struct dt_segment *s = t->segment[i];
		uint32_t keep = s->n;

		if (s != t->current && !s->kept) {
			/* from the outermost frame within [sp, caller_sp) inwards */
			while (keep && s->frame[keep - 1].call.sp < sp)
				keep--;
			while (keep && s->frame[keep - 1].call.sp < caller_sp)
				keep--;
			if (keep < s->n && s->frame[keep].call.sp >= sp) {
				while (s->n > keep)
					dt_pair_pop(p, t, s, DT_CALL_UNWOUND, 0);
				if (!s->n) {
					dt_segment_drop(t, s);
					continue;
				}
			}
		}
		i++;
	}
}

static struct dt_segment *nested(struct dt_pair *p, struct dt_thread_stack *t,
				 struct dt_segment *below)
{
	struct dt_segment *s = dt_segment_new(t);

	/* calls outside could be on any of the stacks */
	p->spoiled |= t->outside && t->segments > 1;
	if (!s) {
		p->no_memory = true;
		return NULL;
	}
	if (below) {
		s->below = below;
		s->below_id = below->frame[below->n - 1].call.id;
		s->depth = dt_pair_depth(below);
	}
	return s;
}

/* Returns a segment all of whose frames are a little below sp: they are gone, unwound on their own
 * stack. */
static struct dt_segment *just_below(const struct dt_thread_stack *t, uint64_t sp)
{
	struct dt_segment *best = NULL;
	uint64_t distance = DT_STACK_NEAR;

	for (uint32_t i = 0; i < t->segments; i++) {
		struct dt_segment *s = t->segment[i];

		if (s->n && !s->kept && s->frame[0].call.sp < sp &&
		    sp - s->frame[0].call.sp < distance) {
			best = s;
			distance = sp - s->frame[0].call.sp;
		}
	}
	return best;
}

/*
 * Returns the segment that a new frame at sp is on; it may be a new one. kept: also consider
 * segments that the thread has left to come back to. NULL: out of memory.
 */
static struct dt_segment *place(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
				bool kept)
{
	struct dt_segment *c = t->current, *other, *s;
	int64_t above = c ? dt_segment_above(c, sp) : -1;
	uint64_t c_distance = above >= 0 ? c->frame[above].call.sp - sp : UINT64_MAX;
	uint64_t o_distance = UINT64_MAX;

	if (c && !c->n && c->below) /* it was just entered from the program: see dt_pair_cross() */
		return c;
	other = dt_stack_nearest(t, c, sp, kept);
	if (other)
		o_distance = other->frame[dt_segment_above(other, sp)].call.sp - sp;
	if (c_distance <= DT_STACK_NEAR && (!other || other->doubtful || c_distance <= o_distance))
		return c;
	if (o_distance <= DT_STACK_NEAR)
		return other;
	if (c && !c->n && t->segments == 1)
		return c;
	s = just_below(t, sp);
	if (s)
		return s;
	/* the caller may have large arrays: only the call that the thread was in can be it */
	if (c_distance <= DT_STACK_FAR)
		return nested(p, t, c);
	/* it is another stack; it is not known why the old one was left */
	if (c)
		c->doubtful = true;
	return nested(p, t, NULL);
}

/* Makes a segment independent if the call that it was entered from is gone. */
static void detach(struct dt_segment *s)
{
	if (dt_pair_below(s) >= 0)
		return;
	s->below = NULL;
	s->below_id = 0;
	s->depth = 0;
}

/* Returns whether the call could have ended in a tail call that left no record. Only an indirect
 * jump leaves none. */
static bool may_jump(const struct dt_pair *p, const struct dt_stack_frame *f)
{
	const struct dt_site *site = dt_reader_site(p->reader, f->call.entry);

	return !site || site->place != DT_SITE_ENTRY;
}

/*
 * Follows the thread from the program's stack to the kernel's, where what is called is called by
 * what the program was in; and back, when all calls of the kernel are over.
 */
void dt_pair_cross(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp)
{
	struct dt_segment *s = t->current;

	if (!s || !s->n || dt_pair_in_kernel(s->frame[0].call.sp) == dt_pair_in_kernel(sp))
		return;
	if (dt_pair_in_kernel(sp)) {
		t->current = nested(p, t, s);
		return;
	}
	while (s->n)
		dt_pair_pop(p, t, s, DT_CALL_UNWOUND, 0);
	dt_pair_leave_empty(t, s);
}

/*
 * Says how a call began whose entry comes after the tail jump of a call that is closed. At the
 * jump's sp it is what was jumped to or, if that has returned unseen, the next call of the same
 * caller. Below, it is called from there or, with arguments on the stack, by the caller. If it is
 * on another stack, nothing is known.
 */
static uint32_t land(struct dt_thread_stack *t, uint64_t sp, uint32_t function)
{
	uint64_t at = t->tail_sp;

	if (sp > at + DT_STACK_FAR || at > sp + DT_STACK_FAR)
		return 0;
	if (sp >= at)
		t->tail_sp = 0;
	if (sp > at || (t->tail_lands && sp < at))
		return 0;
	return t->tail_lands && function == t->tail_lands ? DT_CALL_TAILED : DT_CALL_DOUBTFUL;
}

/* Closes the frame at the sp of a new one, which has taken its place: either it ended in a tail
 * call, or it is gone with those below it. */
static void replace(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, bool alone)
{
	struct dt_stack_frame *top = dt_pair_top(s);
	bool tail = top->jump || (alone && top->losses == t->losses && may_jump(p, top));

	dt_pair_pop_chain(p, t, s, tail ? DT_CALL_TAIL | DT_CALL_INFERRED : DT_CALL_UNWOUND, 0);
}

/*
 * Returns whether an entry at sp is the first call on a stack, judging by where the thread is. When
 * the first call has returned, whatever began that stack calls another function (libc calls
 * setcontext()), with the stack pointer where the arguments of the first call are.
 */
static bool begins_stack(const struct dt_thread_stack *t, uint64_t sp)
{
	return (dt_pair_has_arrived(t) && sp == t->tail_sp + 8) ||
	       (dt_pair_is_at_bottom(t) && sp >= t->tail_sp && sp - t->tail_sp <= ARGUMENTS_MOST);
}

/*
 * Begins the first call on a stack. A kept segment that began at the same place has been given up.
 */
static void begin_stack(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			uint32_t function)
{
	struct dt_segment *s;

	t->tail_sp = 0;
	for (uint32_t i = t->segments; i-- > 0;) {
		s = t->segment[i];
		if (!s->kept || !s->n || s->frame[0].call.sp != sp)
			continue;
		dt_pair_unkeep(s);
		while (s->n)
			dt_pair_pop(p, t, s, DT_CALL_UNWOUND, 0);
		dt_segment_drop(t, s);
	}
	/* what was left where the new stack lies, in an array of one of its callers, is gone */
	bury(p, t, sp - STACK_LEAST + 1, sp + 1);
	s = nested(p, t, NULL);
	if (!s)
		return;
	dt_pair_push(p, t, s, sp, function, 0);
	dt_stack_switch(t, s);
}

void dt_pair_entry_elsewhere(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			     uint32_t function)
{
	struct dt_segment *s;
	uint64_t caller_sp = UINT64_MAX;
	struct dt_stack_frame *top;
	uint32_t before, how = 0;
	bool arrived = dt_pair_has_arrived(t);

	if (__builtin_expect(t->outside != NULL, 0) && dt_part_entry(p, t, sp, function))
		return;
	if (begins_stack(t, sp)) {
		begin_stack(p, t, sp, function);
		return;
	}
	if (arrived || dt_pair_is_at_bottom(t))
		t->tail_sp = 0;
	if (t->tail_sp)
		how = land(t, sp, function);
	if (dt_pair_is_deeper(t, sp)) {
		dt_pair_push(p, t, t->current, sp, function, how);
		return;
	}
	dt_pair_cross(p, t, sp);
	s = place(p, t, sp, arrived);
	if (!s)
		return;
	t->current = s;
	s->doubtful = false;
	dt_pair_unkeep(s);
	before = s->n;
	dt_pair_unwind(p, t, s, sp);
	top = dt_pair_top(s);
	/* in the kernel, a function that ends in a jump still has its own exit, after that of the
	 * other function */
	if (top && top->call.sp == sp && dt_pair_has_landed(t, top, function)) {
		top->jump = DT_JUMP_LANDED;
		how = DT_CALL_TAILED;
	} else if (top && top->call.sp == sp &&
		   !(dt_pair_in_kernel(sp) && top->losses == t->losses && !may_jump(p, top))) {
		if (top->losses == t->losses && (top->jump || (before == s->n && may_jump(p, top))))
			how |= DT_CALL_DOUBTFUL;
		replace(p, t, s, before == s->n);
		top = dt_pair_top(s);
	}
	if (top)
		caller_sp = top->call.sp;
	else
		detach(s);
	t->floor = 0;
	if (t->segments > 1) {
		bury(p, t, sp, caller_sp == UINT64_MAX ? sp + 1 : caller_sp);
		dt_pair_push(p, t, s, sp, function, how);
		dt_stack_switch(t, s);
	} else {
		dt_pair_push(p, t, s, sp, function, how);
	}
}

/* Handles an entry that is all there is of its call. */
void dt_pair_entry_alone(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			 uint32_t function)
{
	struct dt_segment *s;

	dt_pair_entry(p, t, sp, function);
	s = t->current;
	if (p->no_memory || !s || !s->n)
		return;
	dt_pair_pop(p, t, s, DT_CALL_NO_EXIT, 0);
	dt_pair_leave_empty(t, s);
}
