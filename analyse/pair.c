/* SPDX-License-Identifier: MIT */
/*
 * The rules of pairing. What a record at stack pointer s says about the frames on the same stack:
 * those below s are gone; one at s is the record's own call (an exit), or has been replaced by it
 * (an entry: the frame ended in a tail call). Whether the record belongs to another segment is
 * decided first by what is certain (an exit that matches a frame exactly), and last by nearness.
 *
 * A call that jumps to a function whose entries or exits are recorded stays open until that
 * function's exit; if its entries are recorded, that function is in it, at the same s. If it is not
 * known where the call jumped, the call ends at its jump, and what may have been called from there
 * is marked.
 */
#include <stdlib.h>
#include <string.h>
#include "analyse/pair-work.h"
#include "core/search.h"

#define STACK_LEAST    2048 /* the least bytes that a stack has (MINSIGSTKSZ) */
#define ARGUMENTS_MOST 128  /* the most bytes of arguments on a stack below its first call */

/* ---- closing and opening calls ---- */

/* Returns the index of the frame that a nested segment was entered from; -1: it is gone. */
static int64_t below_frame(const struct dt_segment *s)
{
	const struct dt_segment *b = s->below;

	for (uint32_t i = b ? b->n : 0; i-- > 0;)
		if (b->frame[i].call.id == s->below_id)
			return i;
	return -1;
}

/* Ends what a call that is over has waited, and adds it to what its caller did. */
static __attribute__((noinline, cold)) void end_waits(struct dt_segment *s,
						      struct dt_stack_frame *f)
{
	int64_t below = f == s->frame ? below_frame(s) : -1;
	struct dt_call *caller = f != s->frame ? &f[-1].call
				 : below >= 0  ? &s->below->frame[below].call
					       : NULL;

	dt_waits_limit(&f->call);
	if (!caller)
		return;
	caller->flags |= DT_CALL_WAITED;
	caller->waited += f->call.waited;
	caller->preempted += f->call.preempted;
}

static void say_end(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
		    struct dt_stack_frame *f, uint32_t flags, uint32_t exit)
{
	struct dt_call *c = &f->call;

	c->exit = exit;
	c->end = p->now;
	c->held = p->events.cost ? 0
				 : t->held - f->held; /* otherwise the thread's clock stood still */
	c->flags |= flags;
	/* before a jump the registers hold the next function's arguments */
	c->result = exit && p->values && !(flags & DT_CALL_LEFT) ? p->span->value[p->at] : NULL;
	if (__builtin_expect(c->end < c->begin, 0)) {
		p->impossible++;
		c->flags |= DT_CALL_BACKWARD;
		c->end = c->begin;
		c->held = 0;
	}
	if (__builtin_expect(f->losses != t->losses, 0)) {
		/* then it is not known how the call ended, unless this record ended it */
		c->flags |= t->pauses - f->pauses != t->losses - f->losses ? DT_CALL_LOSS : 0;
		c->flags |= t->pauses != f->pauses ? DT_CALL_PAUSED : 0;
		if (!exit)
			c->flags &= ~(unsigned)(DT_CALL_UNWOUND | DT_CALL_TAIL | DT_CALL_INFERRED);
	}
	if (__builtin_expect(c->flags & DT_CALL_WAITED, 0))
		end_waits(s, f);
	p->said = s;
	p->enclosing = (uint32_t)(f - s->frame);
	p->events.end(p->events.ctx, c);
}

/* Adds what a call took to its caller's time in the calls it made. */
static void charge(struct dt_segment *s, uint32_t i, uint64_t ticks)
{
	int64_t below;

	if (i) {
		s->frame[i - 1].call.children += ticks;
		return;
	}
	/* in a nested segment, the caller is on another segment, if it is still there */
	below = below_frame(s);
	if (below >= 0)
		s->below->frame[below].call.children += ticks;
}

/*
 * A recursive call's time counts in that of the call of the same function that it is in; if the
 * outer one's time is not known, it is all that is known. The outer one is looked for among the
 * next REACH callers only: a function could be at the bottom of a deep stack and be called at its
 * top again and again.
 */
#define REACH 64

static void credit(struct dt_segment *s, const struct dt_stack_frame *f)
{
	uint64_t ticks = f->call.flags & DT_CALL_UNTIMED ? f->inner : dt_call_ticks(&f->call);
	const struct dt_stack_frame *last = f - s->frame > REACH ? f - REACH : s->frame;

	for (struct dt_stack_frame *g = s->frame + (f - s->frame); ticks && g-- > last;)
		if (g->call.function == f->call.function) {
			g->inner += ticks;
			g->call.inner_waited += f->call.flags & DT_CALL_UNTIMED
							? f->call.inner_waited
							: f->call.waited;
			return;
		}
}

/* Closes the innermost frame of a segment. */
static void pop(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint32_t flags,
		uint32_t exit)
{
	struct dt_stack_frame *f = &s->frame[s->n - 1];

	--*f->open;
	f->call.inner = f->inner;
	say_end(p, t, s, f, flags, exit);
	if (f->call.flags & DT_CALL_RECURSIVE)
		credit(s, f);
	charge(s, s->n - 1, dt_call_ticks(&f->call));
	s->n--;
}

static struct dt_stack_frame *top_of(struct dt_segment *s)
{
	return s->n ? &s->frame[s->n - 1] : NULL;
}

/* Closes the innermost frame, which is gone without an exit. If it had jumped, another function may
 * have returned for it. */
static void pop_gone(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
		     uint32_t flags)
{
	if (top_of(s)->jump == DT_JUMP_MADE)
		flags = DT_CALL_TAIL | DT_CALL_INFERRED;
	pop(p, t, s, flags, 0);
}

/* Closes every frame of s that is below sp. */
static void unwind(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint64_t sp)
{
	while (s->n && s->frame[s->n - 1].call.sp < sp)
		pop_gone(p, t, s, DT_CALL_UNWOUND);
}

/* Closes the innermost frame, and those at its sp that jumped to it: they ended as it did. */
static void pop_chain(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
		      uint32_t flags, uint32_t exit)
{
	uint64_t sp = top_of(s)->call.sp;
	struct dt_stack_frame *f;

	pop(p, t, s, flags, exit);
	while ((f = top_of(s)) && f->call.sp == sp && f->jump)
		pop(p, t, s, exit ? flags | DT_CALL_TAIL : flags, exit);
}

static inline uint32_t *open_count(struct dt_thread_stack *t, uint32_t function)
{
	struct dt_open_counts *c = &t->open;
	size_t page = function / DT_COUNT_PAGE;

	if (__builtin_expect(page < c->pages && c->page[page], 1))
		return &c->page[page][function % DT_COUNT_PAGE];
	return dt_open_count(c, function);
}

static void push(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint64_t sp,
		 uint32_t function, uint32_t flags)
{
	struct dt_stack_frame *f;
	struct dt_call *c;
	uint32_t *open = open_count(t, function);

	if (__builtin_expect(!open || (s->n == s->size && dt_segment_grow(s)), 0)) {
		p->no_memory = true;
		return;
	}
	f = &s->frame[s->n];
	f->open = open;
	f->losses = t->losses;
	f->pauses = t->pauses;
	f->held = t->held;
	f->inner = 0;
	f->note = 0;
	f->jump = DT_JUMP_NONE;
	f->lands = 0;
	c = &f->call;
	c->id = ++p->last_id;
	c->parent = s->n ? f[-1].call.id : s->below_id;
	c->tid = t->tid;
	c->function = function;
	c->entry = p->span->site[p->at];
	c->exit = 0;
	c->depth = s->depth + s->n;
	c->flags = flags;
	c->begin = c->end = p->now;
	c->sp = sp;
	c->held = c->children = c->inner = 0;
	c->waited = c->waited_self = c->preempted = c->inner_waited = 0;
	c->argument = c->result = NULL;
	c->note = &f->note;
	if (p->values) {
		memcpy(f->argument, p->span->value[p->at], sizeof(f->argument));
		c->argument = f->argument;
	}
	if ((*open)++)
		c->flags |= DT_CALL_RECURSIVE;
	s->n++;
	if (s->n == 1 && !s->below && t->segments > 1)
		c->flags |= DT_CALL_OTHER_STACK;
	if (p->events.begin) {
		p->said = s;
		p->enclosing = s->n - 1;
		p->events.begin(p->events.ctx, c);
	}
}

void dt_pair_callers(struct dt_pair *p, bool (*fn)(void *ctx, const struct dt_call *c), void *ctx)
{
	struct dt_segment *s = p->said;
	uint32_t n = p->enclosing;

	while (s) {
		while (n-- > 0)
			if (!fn(ctx, &s->frame[n].call))
				return;
		n = (uint32_t)(below_frame(s) + 1);
		s = n ? s->below : NULL;
	}
}

const uint32_t *dt_pair_caller_note(const struct dt_pair *p)
{
	int64_t below;

	if (p->enclosing)
		return &p->said->frame[p->enclosing - 1].note;
	below = p->said ? below_frame(p->said) : -1;
	return below < 0 ? NULL : &p->said->below->frame[below].note;
}

bool dt_pair_is_first(const struct dt_pair *p)
{
	return !p->enclosing;
}

/* Returns the flags that say what may have happened to a call of which only the exit is known. */
static uint32_t lossy(const struct dt_thread_stack *t)
{
	return (t->losses != t->pauses ? DT_CALL_LOSS : 0) | (t->pauses ? DT_CALL_PAUSED : 0);
}

/* Passes on a call whose entry was not recorded. */
static void orphan(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint32_t function,
		   uint32_t flags)
{
	struct dt_segment *s = t->current;
	struct dt_call c = {.tid = t->tid,
			    .function = function,
			    .exit = p->span->site[p->at],
			    .flags = flags | DT_CALL_NO_ENTRY,
			    .begin = p->now,
			    .end = p->now,
			    .sp = sp,
			    .result = p->values && !(flags & DT_CALL_TAIL) ? p->span->value[p->at]
									   : NULL};

	p->said = NULL;
	p->enclosing = 0;
	if (s && s->n && s->frame[s->n - 1].call.sp > sp) {
		c.parent = s->frame[s->n - 1].call.id;
		c.depth = s->depth + s->n;
		p->said = s;
		p->enclosing = s->n;
	}
	p->events.end(p->events.ctx, &c);
}

/* Forgets a segment whose last frame is gone; the thread is then where the segment was entered
 * from. */
static void leave_empty(struct dt_thread_stack *t, struct dt_segment *s)
{
	struct dt_segment *below = s->below;

	if (s->n)
		return;
	if (t->segments == 1) {
		s->below_id = 0;
		s->depth = 0;
		return;
	}
	dt_segment_drop(t, s);
	dt_stack_switch(t, below && below->n ? below : NULL);
}

/*
 * Marks a segment that the thread leaves by swapcontext(); unkeep() marks that it is there again.
 * Meanwhile the call of swapcontext() does not count as open, or a call of it from another stack
 * would be taken for one within it.
 */
static void keep(struct dt_segment *s)
{
	s->kept = true;
	--*top_of(s)->open;
}

static void unkeep(struct dt_segment *s)
{
	if (s->kept && s->n)
		++*top_of(s)->open;
	s->kept = false;
}

/* ---- entries ---- */

static bool is_kernel(uint64_t sp)
{
	return sp >> 63;
}

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
					pop(p, t, s, DT_CALL_UNWOUND, 0);
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

	if (!s) {
		p->no_memory = true;
		return NULL;
	}
	if (below) {
		s->below = below;
		s->below_id = below->frame[below->n - 1].call.id;
		s->depth = below->depth + below->n;
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

	if (c && !c->n && c->below) /* it was just entered from the program: see cross() */
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
	if (below_frame(s) >= 0)
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
static void cross(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp)
{
	struct dt_segment *s = t->current;

	if (!s || !s->n || is_kernel(s->frame[0].call.sp) == is_kernel(sp))
		return;
	if (is_kernel(sp)) {
		t->current = nested(p, t, s);
		return;
	}
	while (s->n)
		pop(p, t, s, DT_CALL_UNWOUND, 0);
	leave_empty(t, s);
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

/* Returns whether a new frame at the innermost one's sp is what that one has jumped to. */
static bool has_landed(const struct dt_thread_stack *t, const struct dt_stack_frame *top,
		       uint32_t function)
{
	return top->jump == DT_JUMP_MADE && top->lands == function && top->losses == t->losses;
}

/* Closes the frame at the sp of a new one, which has taken its place: either it ended in a tail
 * call, or it is gone with those below it. */
static void replace(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, bool alone)
{
	struct dt_stack_frame *top = top_of(s);
	bool tail = top->jump || (alone && top->losses == t->losses && may_jump(p, top));

	pop_chain(p, t, s, tail ? DT_CALL_TAIL | DT_CALL_INFERRED : DT_CALL_UNWOUND, 0);
}

static bool is_deeper(const struct dt_thread_stack *t, uint64_t sp)
{
	const struct dt_segment *s = t->current;

	return s && s->n && sp < s->frame[s->n - 1].call.sp &&
	       s->frame[s->n - 1].call.sp - sp <= DT_STACK_NEAR && sp > t->floor;
}

/*
 * Returns whether the thread has come to another stack, of which only the stack pointer is known.
 */
static bool has_arrived(const struct dt_thread_stack *t)
{
	return t->tail_sp && t->tail_lands == DT_LANDS_STACK;
}

/* Returns whether the first call on another stack has returned. Nothing that is recorded has called
 * it. */
static bool is_at_bottom(const struct dt_thread_stack *t)
{
	return t->tail_sp && t->tail_lands == DT_LANDS_BOTTOM;
}

/*
 * Returns whether an entry at sp is the first call on a stack, judging by where the thread is. When
 * the first call has returned, whatever began that stack calls another function (libc calls
 * setcontext()), with the stack pointer where the arguments of the first call are.
 */
static bool begins_stack(const struct dt_thread_stack *t, uint64_t sp)
{
	return (has_arrived(t) && sp == t->tail_sp + 8) ||
	       (is_at_bottom(t) && sp >= t->tail_sp && sp - t->tail_sp <= ARGUMENTS_MOST);
}

/* Returns whether the exit at sp, by which the thread's innermost call ends, is that of the first
 * call on a stack. */
static bool reaches_bottom(const struct dt_thread_stack *t, uint64_t sp)
{
	const struct dt_segment *s = t->current;

	return !is_kernel(sp) && t->segments > 1 && !s->below && s->frame[0].call.sp == sp &&
	       (s->frame[0].call.flags & DT_CALL_OTHER_STACK);
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
		unkeep(s);
		while (s->n)
			pop(p, t, s, DT_CALL_UNWOUND, 0);
		dt_segment_drop(t, s);
	}
	/* what was left where the new stack lies, in an array of one of its callers, is gone */
	bury(p, t, sp - STACK_LEAST + 1, sp + 1);
	s = nested(p, t, NULL);
	if (!s)
		return;
	push(p, t, s, sp, function, 0);
	dt_stack_switch(t, s);
}

static void entry_elsewhere(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			    uint32_t function)
{
	struct dt_segment *s;
	uint64_t caller_sp = UINT64_MAX;
	struct dt_stack_frame *top;
	uint32_t before, how = 0;
	bool arrived = has_arrived(t);

	if (begins_stack(t, sp)) {
		begin_stack(p, t, sp, function);
		return;
	}
	if (arrived || is_at_bottom(t))
		t->tail_sp = 0;
	if (t->tail_sp)
		how = land(t, sp, function);
	if (is_deeper(t, sp)) {
		push(p, t, t->current, sp, function, how);
		return;
	}
	cross(p, t, sp);
	s = place(p, t, sp, arrived);
	if (!s)
		return;
	t->current = s;
	s->doubtful = false;
	unkeep(s);
	before = s->n;
	unwind(p, t, s, sp);
	top = top_of(s);
	/* in the kernel, a function that ends in a jump still has its own exit, after that of the
	 * other function */
	if (top && top->call.sp == sp && has_landed(t, top, function)) {
		top->jump = DT_JUMP_LANDED;
		how = DT_CALL_TAILED;
	} else if (top && top->call.sp == sp &&
		   !(is_kernel(sp) && top->losses == t->losses && !may_jump(p, top))) {
		if (top->losses == t->losses && (top->jump || (before == s->n && may_jump(p, top))))
			how |= DT_CALL_DOUBTFUL;
		replace(p, t, s, before == s->n);
		top = top_of(s);
	}
	if (top)
		caller_sp = top->call.sp;
	else
		detach(s);
	t->floor = 0;
	if (t->segments > 1) {
		bury(p, t, sp, caller_sp == UINT64_MAX ? sp + 1 : caller_sp);
		push(p, t, s, sp, function, how);
		dt_stack_switch(t, s);
	} else {
		push(p, t, s, sp, function, how);
	}
}

static inline void entry(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			 uint32_t function)
{
	if (__builtin_expect(!t->tail_sp && is_deeper(t, sp), 1))
		push(p, t, t->current, sp, function, 0);
	else
		entry_elsewhere(p, t, sp, function);
}

/* Handles an entry that is all there is of its call. */
static void entry_alone(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			uint32_t function)
{
	struct dt_segment *s;

	entry(p, t, sp, function);
	s = t->current;
	if (p->no_memory || !s || !s->n)
		return;
	pop(p, t, s, DT_CALL_NO_EXIT, 0);
	leave_empty(t, s);
}

/* ---- exits ---- */

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

	if (!lands) {
		pop_chain(p, t, s, DT_CALL_TAIL | DT_CALL_LEFT, site);
		return;
	}
	if (chain_length(s) > DT_CALL_CHAIN)
		pop(p, t, s, DT_CALL_TAIL | DT_CALL_LEFT, site);
	f = top_of(s);
	f->jump = DT_JUMP_MADE;
	f->lands = lands;
}

/* Ends the innermost call of s by the record, which is its exit or a tail jump. */
static void leave_call(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
		       const struct fact *fact)
{
	if (__builtin_expect(fact->tail, 0))
		jump(p, t, s, fact->lands);
	else if (__builtin_expect(s->n > 1 && s->frame[s->n - 2].jump, 0))
		pop_chain(p, t, s, 0, p->span->site[p->at]);
	else
		pop(p, t, s, 0, p->span->site[p->at]);
	if (!s->n)
		leave_empty(t, s);
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
	struct dt_stack_frame *top = top_of(s);
	bool known = has_landed(t, top, fact->function);

	if (known && fact->tail && fact->lands)
		top->lands = fact->lands; /* it has jumped on */
	else if (known)
		pop_chain(p, t, s, DT_CALL_TAIL | (fact->tail ? DT_CALL_LEFT : 0),
			  p->span->site[p->at]);
	else
		pop_chain(p, t, s, DT_CALL_TAIL | DT_CALL_INFERRED, 0);
	return known && fact->exits_only;
}

static void exit_elsewhere(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			   const struct fact *fact)
{
	uint32_t function = fact->function, tail = fact->tail ? DT_CALL_TAIL | DT_CALL_LEFT : 0;
	struct dt_segment *s = t->current;
	bool replaced, known = false;
	int64_t above;

	/* an exit in the kernel whose entry is not known: the program's calls stay as they were */
	if (s && s->n && is_kernel(sp) && !is_kernel(s->frame[0].call.sp)) {
		orphan(p, t, sp, function, tail | (lossy(t)));
		return;
	}
	cross(p, t, sp);
	s = t->current;
	above = s ? dt_segment_above(s, sp) : -1;
	replaced = above >= 0 && s->frame[above].call.sp == sp;
	if (replaced && s->frame[above].call.function == function) {
		unwind(p, t, s, sp);
		leave_call(p, t, s, fact);
		return;
	}
	/* libc's resolver of names takes two words off the stack that were pushed for it, and jumps
	 * on */
	if (s && s->n && fact->tail && !replaced && top_of(s)->call.function == function &&
	    sp > top_of(s)->call.sp && sp - top_of(s)->call.sp <= 16) {
		pop_chain(p, t, s, tail, p->span->site[p->at]);
		leave_empty(t, s);
		return;
	}
	s = matching(t, sp, function);
	if (s) {
		/*
		 * a nested segment that is left this way may be a coroutine's stack, or may be gone
		 */
		if (t->current && t->current->below == s)
			t->current->doubtful = true;
		unwind(p, t, s, sp);
		s->doubtful = false;
		unkeep(s);
		dt_stack_switch(t, s);
		leave_call(p, t, s, fact);
		return;
	}
	s = t->current;
	if (s && s->n &&
	    (above >= 0 ? s->frame[above].call.sp - sp <= DT_STACK_NEAR
			: sp - s->frame[0].call.sp <= DT_STACK_NEAR)) {
		unwind(p, t, s, sp);
		known = replaced && replaced_by(p, t, s, fact);
	}
	if (!known)
		orphan(p, t, sp, function, tail | (lossy(t)));
	if (s && !s->n)
		leave_empty(t, s);
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
static void arrive(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
		   const struct fact *fact)
{
	uint32_t site = p->span->site[p->at];
	struct dt_segment *from = t->current, *to = left_at(p, t, sp);
	struct dt_stack_frame *top = from ? top_of(from) : NULL;
	const struct fact *left =
		top && top->call.entry < p->facts ? &p->fact[top->call.entry] : NULL;
	bool ended = left && left->arrives && !left->keeps;

	t->tail_sp = 0;
	if (ended) /* the call does not return: this is its exit */
		pop(p, t, from, fact->tail ? DT_CALL_TAIL | DT_CALL_LEFT : 0, site);
	else if (left && left->keeps && from != to)
		keep(from);
	if (from && from != to && !from->n)
		dt_segment_drop(t, from);
	else if (ended && from != to)
		from->doubtful = true; /* most likely it is gone */
	dt_stack_switch(t, to);
	if (!to) {
		if (!ended)
			orphan(p, t, sp, fact->function,
			       lossy(t) | DT_CALL_OTHER_STACK |
				       (fact->tail ? DT_CALL_TAIL | DT_CALL_LEFT : 0));
		t->tail_sp = sp;
		t->tail_lands = DT_LANDS_STACK;
		return;
	}
	to->doubtful = false;
	unkeep(to);
	if (ended || top_of(to)->call.function != fact->function) {
		pop(p, t, to, DT_CALL_TAIL, site);
		leave_empty(t, to);
	} else {
		leave_call(p, t, to, fact);
	}
}

static void leave(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint32_t function,
		  const struct fact *fact)
{
	struct dt_segment *s = t->current;
	bool waits, bottom,
		mine = s && s->n && s->frame[s->n - 1].call.sp == sp &&
		       s->frame[s->n - 1].call.function == function;

	/* it makes no jump, was not reached by one, and is not the segment's last frame */
	if (__builtin_expect(mine && !fact->tail && !t->tail_sp && s->n > 1 &&
				     !s->frame[s->n - 2].jump,
			     1)) {
		pop(p, t, s, 0, p->span->site[p->at]);
		return;
	}
	if (__builtin_expect(fact->arrives && !mine, 0)) {
		arrive(p, t, sp, fact);
		return;
	}
	if (has_arrived(t) || is_at_bottom(t))
		t->tail_sp = 0;
	bottom = mine && !fact->tail && reaches_bottom(t, sp);
	if (mine)
		leave_call(p, t, s, fact);
	else
		exit_elsewhere(p, t, sp, fact);
	if (bottom) {
		t->tail_sp = sp;
		t->tail_lands = DT_LANDS_BOTTOM;
	} else if (__builtin_expect(fact->tail, 0)) {
		s = t->current;
		waits = s && s->n && top_of(s)->jump == DT_JUMP_MADE && top_of(s)->call.sp == sp;
		t->tail_sp = waits ? 0 : sp;
		t->tail_lands = fact->lands;
	} else if (__builtin_expect(
			   t->tail_sp && sp >= t->tail_sp && sp <= t->tail_sp + DT_STACK_FAR, 0)) {
		t->tail_sp = 0;
	}
}

/*
 * Handles a point or an event inside a function: what is below it on this stack is gone. It may be
 * on another stack than the record before, which was left without a record.
 */
static void point(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp)
{
	struct dt_segment *s, *other;
	uint64_t distance, o_distance;
	int64_t above;

	if (sp && !is_kernel(sp))
		cross(p, t, sp);
	s = t->current;
	other = dt_stack_nearest(t, s, sp, false);
	above = s ? dt_segment_above(s, sp) : -1;
	distance = above >= 0 ? s->frame[above].call.sp - sp : UINT64_MAX;
	o_distance = other ? other->frame[dt_segment_above(other, sp)].call.sp - sp : UINT64_MAX;

	if (o_distance < distance && o_distance <= DT_STACK_NEAR) {
		dt_stack_switch(t, other);
		other->doubtful = false;
		unwind(p, t, other, sp);
	} else if (distance <= DT_STACK_NEAR) {
		unwind(p, t, s, sp);
	}
}

/* ---- losses ---- */

/* Returns how many losses of a core begin before a time. */
static size_t losses_before(const struct core_loss *l, uint64_t time)
{
	return dt_count_before(l ? l->n : 0, k, l->i[k].begin < time);
}

/*
 * Adds a loss. All losses are known from the start, because a thread may go on elsewhere before its
 * core does. Those of a core may overlap, since each of its sources (its ring, the kernel) has its
 * own; they are not put together.
 */
static int add_loss(struct dt_pair *p, unsigned core, uint64_t begin, uint64_t end)
{
	struct core_loss *l = p->loss[core];
	size_t at;

	if (!l && !(l = p->loss[core] = calloc(1, sizeof(*l))))
		return -1;
	end = end ? end : UINT64_MAX;
	p->any_loss = true;
	at = losses_before(l, begin);
	if (at < l->n &&
	    l->i[at].begin == begin) { /* it is noted again: its end may be known by now */
		if (end == UINT64_MAX || l->i[at].end == end)
			return 0;
		if (l->i[at].end == UINT64_MAX || l->i[at].end < end)
			l->i[at].end = end;
	} else {
		if (l->n == l->size) {
			size_t size = l->size ? 2 * l->size : 16;
			struct interval *i = realloc(l->i, size * sizeof(*i));

			if (!i)
				return -1;
			l->i = i;
			l->size = size;
		}
		memmove(l->i + at + 1, l->i + at, (l->n - at) * sizeof(*l->i));
		l->n++;
		l->i[at] = (struct interval){.begin = begin, .end = end};
	}
	for (; at < l->n; at++) {
		uint64_t before = at ? l->i[at - 1].reach : 0;

		l->i[at].reach = l->i[at].end > before ? l->i[at].end : before;
	}
	return 0;
}

static int take_loss(void *ctx, unsigned core, uint64_t lost, uint64_t begin, uint64_t end)
{
	return add_loss(ctx, core, begin, end);
}

/* Returns whether records of a core are missing somewhere in [begin, end]. */
static bool lost_between(const struct dt_pair *p, uint16_t core, uint64_t begin, uint64_t end)
{
	const struct core_loss *l = p->loss[core];
	size_t n = losses_before(l, end);

	return n && l->i[n - 1].reach > begin;
}

/*
 * Returns whether records may be missing of a thread that has made one at `since' and the next, at
 * now, on the same core. What a ring has lost lies between two of its records; for a shared ring,
 * whose times are in no strict order, about there. A loss that spans several records comes from the
 * kernel, which goes on losing while the ring does not: that matters for calls in the kernel, and
 * where it began.
 */
static bool lost_since(const struct dt_pair *p, uint16_t core, uint64_t since, uint64_t now,
		       bool kernel)
{
	const struct core_loss *l = p->loss[core];
	size_t n;

	if (kernel || core >= DT_SHARED_CORES)
		return lost_between(p, core, since, now);
	n = losses_before(l, now);
	return n && l->i[n - 1].begin >= since;
}

/*
 * Returns the time after which something may be lost on a core again, or still; UINT64_MAX: never.
 */
static uint64_t next_loss(const struct dt_pair *p, uint16_t core, uint64_t time)
{
	const struct core_loss *l = p->loss[core];
	size_t n = losses_before(l, time);

	if (n && l->i[n - 1].reach > time)
		return time;
	return l && n < l->n ? l->i[n].begin : UINT64_MAX;
}

/* ---- threads and records ---- */

static struct dt_thread_stack **thread_slot(struct dt_thread_stack **table, size_t size,
					    uint32_t tid)
{
	size_t i = (tid * 0x9e3779b97f4a7c15u) >> 32;

	for (;; i++) {
		struct dt_thread_stack **t = &table[i & (size - 1)];

		if (!*t || (*t)->tid == tid)
			return t;
	}
}

/* Interrupts run in the kernel without a thread: they have a stack of calls for each core. */
struct dt_thread_stack *dt_pair_nobody(struct dt_pair *p, uint16_t core)
{
	if (!p->nobody[core] && (p->nobody[core] = calloc(1, sizeof(**p->nobody))))
		p->nobody[core]->tid = DT_NO_TID;
	return p->nobody[core];
}

struct dt_thread_stack *dt_pair_thread(struct dt_pair *p, uint32_t tid)
{
	struct dt_thread_stack **slot;

	if (p->last && p->last->tid == tid)
		return p->last;
	if (2 * p->used >= p->size) {
		size_t size = p->size ? 2 * p->size : 256;
		struct dt_thread_stack **table = calloc(size, sizeof(*table));

		if (!table)
			return NULL;
		for (size_t i = 0; i < p->size; i++)
			if (p->thread[i])
				*thread_slot(table, size, p->thread[i]->tid) = p->thread[i];
		free(p->thread);
		p->thread = table;
		p->size = size;
	}
	slot = thread_slot(p->thread, p->size, tid);
	if (!*slot) {
		struct dt_thread_stack *t = calloc(1, sizeof(*t));

		if (!t)
			return NULL;
		t->tid = tid;
		*slot = t;
		p->used++;
	}
	return p->last = *slot;
}

struct dt_pair *dt_pair_new(struct dt_reader *r, const struct dt_pair_events *events, bool values)
{
	struct dt_pair *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->reader = r;
	p->events = *events;
	p->values = p->wanted = values;
	if (dt_reader_losses(r, take_loss, p)) {
		dt_pair_free(p);
		return NULL;
	}
	return p;
}

static void other(struct dt_pair *p, struct dt_thread_stack *t, uint8_t kind, uint64_t sp,
		  uint32_t i)
{
	struct dt_segment *s;

	/* these are recorded by the thread itself; a switch or a rundown is about it */
	if (kind == DT_POINT || kind == DT_EVENT || kind == DT_SEND || kind == DT_RECEIVE)
		point(p, t, sp);
	else if (kind == DT_SWITCH)
		dt_waits_switch(p, t, i);
	s = t->current;
	p->said = s;
	p->enclosing = s ? s->n : 0;
	if (p->events.other)
		p->events.other(p->events.ctx, p->span, i, s ? s->depth + s->n : 0);
}

void dt_pair_look(struct dt_pair *p, uint32_t tid)
{
	struct dt_thread_stack *t = dt_pair_thread(p, tid);

	p->said = t ? t->current : NULL;
	p->enclosing = p->said ? p->said->n : 0;
}

/* A function whose entries or exits are recorded, and where it is. */
struct head {
	uint64_t address;
	uint32_t pid, function;
};

static int by_address(const void *a, const void *b)
{
	const struct head *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static uint32_t pid_of(const struct dt_reader *r, uint32_t function)
{
	const struct dt_function_info *f = dt_reader_function(r, function);
	const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;

	return m ? m->pid : 0;
}

/* Returns all such functions, sorted by address. NULL: out of memory. */
static struct head *heads(const struct dt_pair *p, size_t *n)
{
	uint32_t sites = dt_reader_sites(p->reader);
	struct head *all = malloc((sites + 1) * sizeof(*all));

	*n = 0;
	for (uint32_t i = 1; all && i <= sites; i++) {
		const struct dt_site *site = dt_reader_site(p->reader, i);
		const struct dt_function_info *f = dt_reader_function(p->reader, site->function);

		if ((site->kind == DT_ENTRY || site->kind == DT_EXIT) && f)
			all[(*n)++] = (struct head){f->address, pid_of(p->reader, site->function),
						    p->same.first[site->function]};
	}
	if (all)
		qsort(all, *n, sizeof(*all), by_address);
	return all;
}

/* Returns the function at an address of a process whose entries or exits are recorded; 0: none. */
static uint32_t head_at(const struct head *all, size_t n, uint64_t address, uint32_t pid)
{
	struct head key = {address, pid, 0};
	const struct head *h = n ? bsearch(&key, all, n, sizeof(key), by_address) : NULL;

	return h ? h->function : 0;
}

static bool is_named(const struct dt_pair *p, uint32_t function, const char *name)
{
	const struct dt_function_info *f = dt_reader_function(p->reader, function);

	return f && (!strcmp(f->name, name) ||
		     (!strncmp(f->name, "__", 2) && !strcmp(f->name + 2, name)));
}

/* Returns whether this is one of libc's functions that load the stack pointer and jump. */
static bool changes_stack(const struct dt_pair *p, uint32_t function)
{
	static const char *const names[] = {"swapcontext", "setcontext", "longjmp", "_longjmp",
					    "__longjmp_chk"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_named(p, function, names[i]))
			return true;
	return false;
}

/*
 * Brings the facts up to date: a file that is still being written may have new sites and functions.
 */
static int update_facts(struct dt_pair *p)
{
	uint32_t sites = dt_reader_sites(p->reader) + 1;
	uint32_t functions = dt_reader_functions(p->reader);
	struct head *head;
	struct fact *f;
	bool *entered; /* by function: its entries are recorded */
	size_t n;

	if (__builtin_expect(sites <= p->facts && functions <= p->fact_functions, 1))
		return 0;
	f = realloc(p->fact, sites * sizeof(*f));
	if (!f || dt_same_update(&p->same, p->reader))
		return -1;
	p->fact = f;
	p->facts = sites;
	p->fact_functions = functions;
	head = heads(p, &n);
	entered = head ? calloc(functions + 1, sizeof(*entered)) : NULL;
	if (!entered) {
		free(head);
		return -1;
	}
	for (uint32_t i = 1; i < sites; i++) {
		const struct dt_site *site = dt_reader_site(p->reader, i);

		if (site->kind == DT_ENTRY)
			entered[p->same.first[site->function]] = true;
	}
	for (uint32_t i = 1; i < sites; i++) {
		const struct dt_site *site = dt_reader_site(p->reader, i);

		f[i] = (struct fact){.function = p->same.first[site->function],
				     .kind = site->kind,
				     .tail = site->place == DT_SITE_TAIL,
				     .alone = site->place == DT_SITE_ENTRY_ALONE,
				     .keeps = is_named(p, site->function, "swapcontext")};
		f[i].arrives = changes_stack(p, site->function);
		f[i].exits_only = !entered[f[i].function];
		if (f[i].tail && site->target)
			f[i].lands =
				head_at(head, n, site->target, pid_of(p->reader, site->function));
	}
	free(entered);
	free(head);
	return 0;
}

/* ---- pauses ---- */

/* Returns a number that changes when a file that grows has got more holds or pauses. */
static size_t known_times(const struct dt_pair *p)
{
	size_t pauses;

	dt_reader_pause_times(p->reader, &pauses);
	return dt_reader_holds(p->reader) + pauses + 1;
}

static void find_pauses(const struct dt_pair *p, struct dt_thread_stack *t)
{
	size_t n;
	const struct dt_times *x = dt_reader_pause_times(p->reader, &n);

	for (t->pause_at = 0; t->pause_at < n && x[t->pause_at].end <= t->last_ticks; t->pause_at++)
		;
	t->next_pause = t->pause_at < n ? x[t->pause_at].begin : UINT64_MAX;
}

/* Notes a pause as a loss if recording was paused since the thread's last record: then what was
 * open need not be what ends now. */
static void pause(const struct dt_pair *p, struct dt_thread_stack *t, uint64_t now)
{
	size_t n;
	const struct dt_times *x = dt_reader_pause_times(p->reader, &n);
	bool paused = false;

	for (; t->pause_at < n && x[t->pause_at].begin < now; t->pause_at++) {
		paused = paused || x[t->pause_at].end > t->last_ticks;
		if (x[t->pause_at].end > now)
			break;
	}
	t->next_pause = t->pause_at >= n	     ? UINT64_MAX
			: x[t->pause_at].begin < now ? now
						     : x[t->pause_at].begin;
	if (!paused || !t->last_ticks)
		return;
	t->losses++;
	t->pauses++;
	t->tail_sp = 0;
}

/* ---- the tracer's own time ---- */

/* Looks up the times in which the thread was held, after its last record. */
static void find_holds(struct dt_pair *p, struct dt_thread_stack *t)
{
	t->holds_known = known_times(p);
	t->holds = dt_reader_thread_holds(p->reader, t->tid, &t->holds_n);
	for (t->at = 0; t->at < t->holds_n && t->holds[t->at].end <= t->last_ticks; t->at++)
		;
	t->held_inside = 0;
	t->next_held = t->at < t->holds_n ? t->holds[t->at].begin : UINT64_MAX;
	find_pauses(p, t);
}

/*
 * Adds up how long the thread was held until now, when it made a record (own: itself, not the
 * kernel about it). If two records both lie within one hold, the thread ran in between after all: a
 * signal's handler. A thread that waited for room did so for its next record.
 */
static void hold(struct dt_thread_stack *t, uint64_t now, bool own)
{
	uint64_t since = t->last_ticks;

	for (; t->at < t->holds_n && t->holds[t->at].begin < now; t->at++) {
		const struct dt_times *h = &t->holds[t->at];
		uint64_t begin = h->begin > since ? h->begin : since;
		uint64_t end = h->end > now || (own && h->record) ? now : h->end;

		if (end > begin && !(own && h->end > now && t->held_inside == t->at + 1))
			t->held += end - begin;
		if (h->end > now) {
			if (own)
				t->held_inside = t->at + 1;
			t->next_held = now;
			return;
		}
		since = end > since ? end : since;
	}
	t->next_held = t->at < t->holds_n ? t->holds[t->at].begin : UINT64_MAX;
}

/*
 * Returns the time of a record on a clock that stands still while a record is made. Between two
 * records lie the rest of making the first one and the beginning of making the second one: together
 * one cost. The clock also stood still while the thread was held.
 */
static uint64_t without_cost(struct dt_pair *p, struct dt_thread_stack *t, uint64_t ticks,
			     uint8_t kind, uint64_t held)
{
	double passed;

	if (!t->last_ticks) {
		t->last_time = (double)ticks;
		return ticks;
	}
	passed = (double)(int64_t)(ticks - t->last_ticks - held) - p->events.cost[kind];
	if (passed > 0)
		t->last_time += passed;
	return (uint64_t)(t->last_time + 0.5);
}

/* Closes every open call of a thread. */
static void close_all(struct dt_pair *p, struct dt_thread_stack *t, uint32_t flags)
{
	while (t->segments) {
		struct dt_segment *s = t->segment[t->segments - 1];

		unkeep(s);
		while (s->n)
			pop(p, t, s, flags, 0);
		dt_segment_drop(t, s);
	}
}

/* ---- other programs in the same process ---- */

/*
 * Returns whether a record is of the program itself. The thread that goes on after an execve has
 * the process's number, whichever thread called it; what other threads have open is not met again.
 * The new program's first record tells that it is there: until then the thread may be in the
 * kernel, whose calls were made by the old one.
 */
static bool is_of_program(const struct dt_pair *p, const struct dt_span *s, uint32_t i)
{
	uint8_t kind = p->fact[s->site[i]].kind;

	return (kind == DT_ENTRY || kind == DT_EXIT || kind == DT_POINT || kind == DT_EVENT ||
		kind == DT_SEND || kind == DT_RECEIVE) &&
	       s->sp[i] && !is_kernel(s->sp[i]);
}

/* Returns when the latest of the program's open calls began; if none is open, the time of the
 * thread's last record. */
static uint64_t newest(const struct dt_thread_stack *t)
{
	uint64_t begin = 0;

	for (uint32_t i = 0; i < t->segments; i++) {
		const struct dt_segment *s = t->segment[i];
		const struct dt_call *c = s->n ? &s->frame[s->n - 1].call : NULL;

		if (c && !is_kernel(c->sp) && c->begin > begin)
			begin = c->begin;
	}
	return begin ? begin : t->last_ticks;
}

/* Returns the index of the first record of another program, from i on; the span's length: there is
 * none. */
static uint32_t new_program(const struct dt_pair *p, const struct dt_thread_stack *t,
			    const struct dt_span *s, uint32_t i)
{
	if (__builtin_expect(t->next_exec > s->ticks[s->n - 1] || t->next_exec == UINT64_MAX, 1))
		return s->n;
	while (i < s->n && (s->ticks[i] < t->next_exec || !is_of_program(p, s, i)))
		i++;
	return i;
}

/* Returns when the old program's calls ended: at the execve, and after all of their records. */
static uint64_t exec_time(const struct dt_pair *p, const struct dt_thread_stack *t)
{
	uint64_t passed = t->next_exec > t->last_ticks ? t->next_exec - t->last_ticks : 0;

	return (p->events.cost ? (uint64_t)(t->last_time + 0.5) : t->last_ticks) + passed;
}

static void exec(struct dt_pair *p, struct dt_thread_stack *t, uint64_t until)
{
	if (t->next_held < t->next_exec)
		hold(t, t->next_exec, false);
	p->now = exec_time(p, t);
	close_all(p, t, DT_CALL_UNWOUND);
	t->floor = 0;
	t->tail_sp = 0;
	/* if there are several execs without a record between them, all are done */
	t->next_exec =
		until == UINT64_MAX ? UINT64_MAX : dt_reader_exec(p->reader, t->tid, until + 1);
}

/* Returns whether record i is of a call in the kernel. */
static bool is_kernels(const struct dt_pair *p, const struct dt_span *s, uint32_t i)
{
	uint8_t kind = p->fact[s->site[i]].kind;

	return is_kernel(s->sp[i]) && (kind == DT_ENTRY || kind == DT_EXIT);
}

/* Notes a loss: after it, it is not known where the thread is. */
static void lose(struct dt_thread_stack *t)
{
	t->losses++;
	t->tail_sp = 0;
}

/* Looks for a loss within a span, whose records are of one thread and core: the result must not
 * depend on where the reader cuts spans. */
static void lose_inside(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s,
			uint32_t i)
{
	if (i && lost_since(p, s->core, s->ticks[i - 1], s->ticks[i], is_kernels(p, s, i)))
		lose(t);
	p->next_loss = next_loss(p, s->core, s->ticks[i]);
}

/*
 * Leaves out the time that capturing took: between a record and one that continues it nothing runs
 * but the tracer. held: t->held before this record.
 */
static void capture(struct dt_pair *p, struct dt_thread_stack *t, uint64_t before, uint64_t held)
{
	uint64_t passed = p->now - before;

	if (before && p->now > before && passed > t->held - held)
		t->held = held + passed;
}

static void records(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s,
		    uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct fact *fact = &p->fact[s->site[i]];
		uint64_t held = t->held;

		p->at = i;
		p->now = s->ticks[i];
		if (__builtin_expect(p->events.cost != NULL || t->next_held < p->now ||
					     t->next_pause < p->now || p->next_loss < p->now,
				     0)) {
			if (p->next_loss < s->ticks[i])
				lose_inside(p, t, s, i);
			if (i > from)
				t->last_ticks = s->ticks[i - 1];
			if (t->next_pause < s->ticks[i])
				pause(p, t, s->ticks[i]);
			hold(t, s->ticks[i], s->sp[i] && !is_kernel(s->sp[i]));
			if (p->events.cost)
				p->now =
					without_cost(p, t, s->ticks[i], fact->kind, t->held - held);
		}
		if (fact->kind == DT_ENTRY) {
			if (__builtin_expect(fact->alone, 0))
				entry_alone(p, t, s->sp[i], fact->function);
			else
				entry(p, t, s->sp[i], fact->function);
		} else if (fact->kind == DT_EXIT) {
			leave(p, t, s->sp[i], fact->function, fact);
		} else {
			if (fact->kind == DT_MORE && !p->events.cost)
				capture(p, t, i > from ? s->ticks[i - 1] : t->last_ticks, held);
			other(p, t, fact->kind, s->sp[i], i);
		}
	}
	if (to > from)
		t->last_ticks = s->ticks[to - 1];
}

bool dt_pair_unwanted(const struct dt_reader *r, struct dt_span *s)
{
	if (!s->n || dt_reader_site(r, s->site[0])->kind != DT_SWITCH)
		return false;
	s->n = 1;
	return true;
}

int dt_pair_span(struct dt_pair *p, const struct dt_span *s)
{
	struct dt_thread_stack *t;
	size_t execs;

	if (s->lost && add_loss(p, s->core, s->lost_begin, s->lost_end))
		return -1;
	if (!s->n) {
		if (s->lost && p->events.loss)
			p->events.loss(p->events.ctx, DT_NO_TID, s->lost, s->lost_begin,
				       s->lost_end);
		return 0;
	}
	t = s->tid == DT_NO_TID && is_kernel(s->sp[0]) ? dt_pair_nobody(p, s->core)
						       : dt_pair_thread(p, s->tid);
	if (!t || update_facts(p))
		return -1;
	p->span = s;
	p->values = p->wanted && s->value;
	/* within a span, such a record shows at the end of some call */
	p->impossible +=
		s->ticks[0] < t->last_ticks && !is_kernel(s->sp[0]) &&
		(p->fact[s->site[0]].kind == DT_ENTRY || p->fact[s->site[0]].kind == DT_EXIT);
	if (s->lost && p->events.loss)
		p->events.loss(p->events.ctx, s->tid, s->lost, s->lost_begin, s->lost_end);
	if (p->any_loss && t->last_ticks &&
	    (s->lost ||
	     lost_since(p, s->core, t->last_ticks, s->ticks[0],
			t->last_core != s->core || is_kernels(p, s, 0)) ||
	     (t->last_core != s->core &&
	      lost_between(p, t->last_core, t->last_ticks, s->ticks[0]))))
		lose(t);
	p->next_loss = p->any_loss ? next_loss(p, s->core, s->ticks[0]) : UINT64_MAX;
	dt_reader_execs(p->reader, &execs);
	if (__builtin_expect(t->execs != execs + 1, 0)) {
		t->execs = execs + 1;
		t->next_exec = dt_reader_exec(p->reader, t->tid, newest(t));
	}
	if (__builtin_expect(t->holds_known != known_times(p), 0))
		find_holds(p, t);
	dt_waits_span(p, t, s);
	for (uint32_t from = 0, to; from < s->n; from = to) {
		to = new_program(p, t, s, from);
		records(p, t, s, from, to);
		if (to < s->n)
			exec(p, t, s->ticks[to]);
	}
	t->last_core = s->core;
	return p->no_memory ? -1 : 0;
}

static void finish(struct dt_pair *p, struct dt_thread_stack *t)
{
	p->now = p->events.cost ? (uint64_t)(t->last_time + 0.5) : t->last_ticks;
	close_all(p, t, DT_CALL_OPEN);
}

uint64_t dt_pair_impossible(const struct dt_pair *p)
{
	return p->impossible;
}

int dt_pair_sound(struct dt_reader *r, uint64_t records, uint64_t total, uint64_t impossible,
		  struct dt_error *e)
{
	static const char tell[] = "`devtrace check` tells more, --anyway shows it nevertheless";
	struct dt_error why;

	if (records < total)
		return dt_fail(
			e,
			"the trace does not add up: %lu of its %lu records are out of order and are "
			"not met; %s",
			(unsigned long)(total - records), (unsigned long)total, tell);
	if (impossible)
		return dt_fail(
			e, "the trace does not add up: %lu %s; %s", (unsigned long)impossible,
			impossible == 1
				? "record is earlier than one before it of its thread"
				: "records are earlier than ones before them of their threads",
			tell);
	/* for a part of a trace, it is not known */
	if (total && dt_reader_all_written(r, &why))
		return dt_fail(e, "%.200s; %s", why.text, tell);
	return 0;
}

int dt_pair_finish(struct dt_pair *p)
{
	for (size_t i = 0; i < p->size; i++)
		if (p->thread[i])
			finish(p, p->thread[i]);
	for (size_t i = 0; i < 65536; i++)
		if (p->nobody[i])
			finish(p, p->nobody[i]);
	return 0;
}

void dt_pair_free(struct dt_pair *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->size; i++) {
		if (!p->thread[i])
			continue;
		dt_stack_free(p->thread[i]);
		free(p->thread[i]);
	}
	for (size_t i = 0; i < 65536; i++) {
		if (p->nobody[i])
			dt_stack_free(p->nobody[i]);
		free(p->nobody[i]);
		if (!p->loss[i])
			continue;
		free(p->loss[i]->i);
		free(p->loss[i]);
	}
	free(p->thread);
	free(p->fact);
	dt_same_free(&p->same);
	free(p);
}

int dt_pair_run(struct dt_reader *r, const struct dt_reader_range *range,
		const struct dt_pair_events *events, struct dt_error *e)
{
	struct dt_pair *p = dt_pair_new(r, events, range->values);
	struct dt_span s;
	int rc;

	if (!p)
		return dt_fail(e, "out of memory");
	rc = dt_reader_start(r, range, e);
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0)
		rc = dt_pair_span(p, &s) ? dt_fail(e, "out of memory") : 0;
	if (!rc)
		dt_pair_finish(p);
	dt_pair_free(p);
	return rc;
}
