/* SPDX-License-Identifier: MIT */
/* Calls that are open: how they begin and end, and what is said of them then. */
#include "analyse/pair-work.h"

#include <string.h>

/* Returns the index of the frame that a nested segment was entered from; -1: it is gone. */
int64_t dt_pair_below(const struct dt_segment *s)
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
	int64_t below = f == s->frame ? dt_pair_below(s) : -1;
	struct dt_call *caller = f != s->frame ? &f[-1].call
				 : below >= 0  ? &s->below->frame[below].call
					       : NULL;

	dt_waits_limit(&f->call);
	if (!caller)
		return;
	if (dt_pair_is_folded(f)) {
		caller->waited_self += f->call.waited_self;
		if (f->call.longest[1] > caller->longest[1]) {
			caller->longest[1] = f->call.longest[1];
			caller->waited_for[1] = f->call.waited_for[1];
			caller->woken[1] = f->call.woken[1];
			caller->queued[1] = f->call.queued[1];
		}
	}
	caller->flags |= DT_CALL_WAITED;
	caller->waited += f->call.waited;
	caller->preempted += f->call.preempted;
	if (f->call.longest[0] > caller->longest[0]) {
		caller->longest[0] = f->call.longest[0];
		caller->waited_for[0] = f->call.waited_for[0];
		caller->woken[0] = f->call.woken[0];
		caller->queued[0] = f->call.queued[0];
	}
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
	if (__builtin_expect(p->offs != 0, 0) &&
	    dt_pair_was_off(p, c->function, c->begin, p->now)) {
		c->flags |= DT_CALL_PAUSED;
		if (!exit)
			c->flags &= ~(unsigned)(DT_CALL_UNWOUND | DT_CALL_TAIL | DT_CALL_INFERRED);
	}
	if (__builtin_expect(dt_lost_switches_any(&p->lost_switches), 0))
		dt_waits_unseen(p, c);
	if (__builtin_expect(c->flags & DT_CALL_WAITED, 0))
		end_waits(s, f);
	if (__builtin_expect(dt_pair_is_folded(f), 0))
		return;
	p->said = s;
	p->enclosing = (uint32_t)(f - s->frame);
	p->events.end(p->events.ctx, c);
}

/* Adds what a call took to its caller's time in the calls it made. */
static void charge(const struct dt_thread_stack *t, struct dt_segment *s, uint32_t i,
		   uint64_t ticks)
{
	int64_t below;

	if (i) {
		s->frame[i - 1].call.children += ticks;
		return;
	}
	/* in a nested segment, the caller is on another segment, if it is still there */
	below = dt_pair_below(s);
	if (below >= 0)
		s->below->frame[below].call.children += ticks;
	else if (t->outside)
		t->outside->level[t->outside->levels - 1].children += ticks;
}

/*
 * A recursive call's time counts in that of the call of the same function that it is in; if the
 * outer one's time is not known, it is all that is known. The outer one is looked for among the
 * next REACH callers only: a function could be at the bottom of a deep stack and be called at its
 * top again and again.
 */
#define REACH DT_PAIR_REACH

static uint64_t counted_ticks(const struct dt_stack_frame *f)
{
	return f->call.flags & DT_CALL_UNTIMED ? f->inner : dt_call_ticks(&f->call);
}

static void credit(struct dt_segment *s, const struct dt_stack_frame *f)
{
	uint64_t ticks = counted_ticks(f);
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
void dt_pair_pop(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint32_t flags,
		 uint32_t exit)
{
	struct dt_stack_frame *f = &s->frame[s->n - 1];

	if (__builtin_expect(dt_part_is_outside(f), 0)) {
		dt_part_end(p, t, s, flags, exit);
		return;
	}
	if (__builtin_expect(dt_pair_is_folded(f), 0)) {
		say_end(p, t, s, f, flags, exit);
		charge(t, s, s->n - 1, f->call.children);
		s->n--;
		s->folded--;
		return;
	}
	--*f->open;
	f->call.inner = f->inner;
	say_end(p, t, s, f, flags, exit);
	if (f->call.flags & DT_CALL_RECURSIVE)
		credit(s, f);
	else if (t->outside)
		dt_part_count(p, t->outside, f->call.function, s->n - 1, counted_ticks(f));
	charge(t, s, s->n - 1, dt_call_ticks(&f->call));
	s->n--;
	if (__builtin_expect(!s->n && t->outside, 0) && t->outside->first_open)
		dt_part_first_ends(p, t, flags, exit);
}

/* Closes the innermost frame, which is gone without an exit. If it had jumped, another function may
 * have returned for it. */
static void pop_gone(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
		     uint32_t flags)
{
	if (dt_pair_top(s)->jump == DT_JUMP_MADE)
		flags = DT_CALL_TAIL | DT_CALL_INFERRED;
	dt_pair_pop(p, t, s, flags, 0);
}

/* Closes every frame of s that is below sp. */
void dt_pair_unwind(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint64_t sp)
{
	while (s->n && s->frame[s->n - 1].call.sp < sp)
		pop_gone(p, t, s, DT_CALL_UNWOUND);
}

/* Closes the innermost frame, and those at its sp that jumped to it: they ended as it did. */
void dt_pair_pop_chain(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
		       uint32_t flags, uint32_t exit)
{
	uint64_t sp = dt_pair_top(s)->call.sp;
	struct dt_stack_frame *f;

	dt_pair_pop(p, t, s, flags, exit);
	while ((f = dt_pair_top(s)) && f->call.sp == sp && f->jump)
		dt_pair_pop(p, t, s, exit ? flags | DT_CALL_TAIL : flags, exit);
}

static inline uint32_t *open_count(struct dt_thread_stack *t, uint32_t function)
{
	struct dt_open_counts *c = &t->open;
	size_t page = function / DT_COUNT_PAGE;

	if (__builtin_expect(page < c->pages && c->page[page], 1))
		return &c->page[page][function % DT_COUNT_PAGE];
	return dt_open_count(c, function);
}

/* Returns whether a new frame can be a part of the one before it, which has jumped to it: that is
 * recorded only where a module calls it, too. */
static bool may_be_folded(const struct dt_pair *p, const struct dt_segment *s,
			  const struct dt_stack_frame *f)
{
	return s->n && f[-1].call.sp == f->call.sp && f[-1].call.entry < p->facts &&
	       p->fact[f[-1].call.entry].folds;
}

/* Makes a new frame a part of the one before it. */
static void fold(struct dt_pair *p, struct dt_segment *s, struct dt_stack_frame *f)
{
	struct dt_call *outer = &dt_pair_whole(f - 1)->call;

	f->call.flags |= DT_CALL_FOLDED;
	if (!(outer->flags & DT_CALL_FOLDS))
		outer->folded = f->call.function;
	outer->flags |= DT_CALL_FOLDS;
	p->folded++;
	s->folded++;
	s->n++;
}

void dt_pair_push(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint64_t sp,
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
	f->note[0] = f->note[1] = 0;
	f->jump = DT_JUMP_NONE;
	f->lands = p->fact[p->span->site[p->at]].lands;
	c = &f->call;
	c->id = ++p->last_id;
	c->parent = s->n ? dt_pair_whole(f - 1)->call.id : s->below_id;
	c->tid = t->tid;
	c->function = function;
	c->entry = p->span->site[p->at];
	c->exit = 0;
	c->depth = dt_pair_depth(s);
	c->folded = 0;
	c->flags = flags;
	c->begin = c->end = p->now;
	c->sp = sp;
	c->held = c->children = c->inner = 0;
	c->waited = c->waited_self = c->preempted = c->inner_waited = c->unseen = 0;
	c->longest[0] = c->longest[1] = 0;
	c->waited_for[0] = c->waited_for[1] = 0;
	c->woken[0] = c->woken[1] = 0;
	c->queued[0] = c->queued[1] = 0;
	c->argument = c->result = NULL;
	c->note = f->note;
	if (p->values) {
		memcpy(f->argument, p->span->value[p->at], sizeof(f->argument));
		c->argument = f->argument;
	}
	if (__builtin_expect(flags & DT_CALL_TAILED && p->fact[c->entry].folds &&
				     may_be_folded(p, s, f),
			     0)) {
		fold(p, s, f);
		return;
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
			if (!dt_pair_is_folded(&s->frame[n]) && !fn(ctx, &s->frame[n].call))
				return;
		n = (uint32_t)(dt_pair_below(s) + 1);
		s = n ? s->below : NULL;
	}
}

const uint32_t *dt_pair_caller_note(const struct dt_pair *p)
{
	int64_t below;

	if (p->enclosing)
		return dt_pair_whole(&p->said->frame[p->enclosing - 1])->note;
	below = p->said ? dt_pair_below(p->said) : -1;
	return below < 0 ? NULL : dt_pair_whole(&p->said->below->frame[below])->note;
}

bool dt_pair_is_first(const struct dt_pair *p)
{
	return !p->enclosing;
}

/* Passes on a call whose entry was not recorded. */
void dt_pair_orphan(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint32_t function,
		    uint32_t flags)
{
	struct dt_segment *s = t->current;
	struct dt_call c = {
		.tid = t->tid,
		.function = function,
		.exit = p->span->site[p->at],
		.flags = flags | DT_CALL_NO_ENTRY |
			 (p->offs && dt_pair_was_off(p, function, 0, p->now) ? DT_CALL_PAUSED : 0),
		.begin = p->now,
		.end = p->now,
		.sp = sp,
		.result = p->values && !(flags & DT_CALL_TAIL) ? p->span->value[p->at] : NULL};

	p->said = NULL;
	p->enclosing = 0;
	if (s && s->n && s->frame[s->n - 1].call.sp > sp) {
		c.parent = dt_pair_whole(&s->frame[s->n - 1])->call.id;
		c.depth = dt_pair_depth(s);
		p->said = s;
		p->enclosing = s->n;
	}
	p->events.end(p->events.ctx, &c);
}

/* Forgets a segment whose last frame is gone; the thread is then where the segment was entered
 * from. */
void dt_pair_leave_empty(struct dt_thread_stack *t, struct dt_segment *s)
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
 * Marks a segment that the thread leaves by swapcontext(); dt_pair_unkeep() marks that it is there
 * again. Meanwhile the call of swapcontext() does not count as open, or a call of it from another
 * stack would be taken for one within it.
 */
void dt_pair_keep(struct dt_segment *s)
{
	s->kept = true;
	--*dt_pair_top(s)->open;
}

void dt_pair_unkeep(struct dt_segment *s)
{
	if (s->kept && s->n)
		++*dt_pair_top(s)->open;
	s->kept = false;
}

/* Closes every open call of a thread. */
void dt_pair_close_all(struct dt_pair *p, struct dt_thread_stack *t, uint32_t flags)
{
	while (t->segments) {
		struct dt_segment *s = t->segment[t->segments - 1];

		dt_pair_unkeep(s);
		while (s->n)
			dt_pair_pop(p, t, s, flags, 0);
		dt_segment_drop(t, s);
	}
}
