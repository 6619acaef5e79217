/* SPDX-License-Identifier: MIT */
/*
 * The sieve's open calls: which entry an exit belongs to, and whether a call is wanted.
 *
 * The rules are those of pairing (analyse/pair.c), made simpler where a mistake only means that
 * more is written: a call that is seen to be gone is judged by the longest time that it may have
 * taken, and the stack that a record belongs to is decided by an exact match, or else by nearness.
 */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#define NEAR  16384	 /* bytes: see DT_STACK_NEAR */
#define FAR   (4u << 20) /* bytes: see DT_STACK_FAR */
#define CHAIN 16	 /* see DT_CALL_CHAIN */
#define DEEP  4096	 /* frames: the room for more is freed when the last one is gone */

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

/* Returns the thread of a record; NULL: out of memory. */
static struct sieve_thread *thread_of(struct dt_sieve *v, const struct dt_record *r, unsigned core)
{
	uint64_t key = r->tid == DT_NO_TID ? 1ull << 32 | core : r->tid;
	struct sieve_thread **slot;

	if (v->last && v->last->key == key)
		return v->last;
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

void dt_sieve_free_threads(struct dt_sieve *v)
{
	for (size_t i = 0; i < v->thread_room; i++) {
		struct sieve_thread *t = v->thread[i];

		for (uint32_t k = 0; t && k < t->stacks; k++)
			free_stack(v, t->stack[k]);
		if (t) {
			dt_sieve_sums_forget(v, &t->alone);
			free(t->stack);
			free(t->open);
			free(t);
		}
	}
	free(v->thread);
}

/* Returns the counter of a thread's open calls of a function; NULL: out of memory. */
static uint32_t *open_count(struct sieve_thread *t, uint32_t function)
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

/* ---- sums of what is left out ---- */

static struct dt_left_out_row *left_of(struct dt_sieve *v, uint32_t function)
{
	if (function >= v->lefts) {
		uint32_t n = function + 1 + function / 2;
		struct left *more = realloc(v->left, n * sizeof(*more));

		if (!more) {
			v->no_memory = true;
			return NULL;
		}
		memset(more + v->lefts, 0, (n - v->lefts) * sizeof(*more));
		v->left = more;
		v->lefts = n;
	}
	v->left[function].changed = true;
	return &v->left[function].row;
}

void dt_sieve_count(struct dt_sieve *v, uint32_t function, uint64_t ticks, uint64_t children,
		    bool outermost)
{
	struct dt_left_out_row *l = left_of(v, function);

	v->counts.calls++;
	if (!l)
		return;
	l->function = function;
	if (ticks == UINT64_MAX) {
		l->untimed++;
		return;
	}
	if (!l->calls || ticks < l->min)
		l->min = ticks;
	if (ticks > l->max)
		l->max = ticks;
	l->calls++;
	l->total += outermost ? ticks : 0;
	l->self += ticks > children ? ticks - children : 0;
}

/* ---- ends of calls ---- */

void dt_sieve_decide(struct dt_sieve *v, uint32_t verdict, bool keep)
{
	if (verdict >= VERDICT_FIRST && v->verdict[verdict].is == UNDECIDED)
		v->verdict[verdict].is = keep ? VERDICT_KEEP : VERDICT_DROP;
}

void dt_sieve_tell_sums(struct dt_sieve *v, const struct sieve_thread *t, const struct stack *s,
			struct frame *f, const struct ending *how)
{
	const struct dt_call ended = {
		.end = how->ticks, .result = how->result, .flags = how->flags};

	dt_sieve_sums_end(v, t, s, f, &ended);
}

static bool fits(struct dt_sieve *v, const struct sieve_thread *t, const struct frame *f,
		 const struct ending *how)
{
	struct dt_call c = {.tid = (uint32_t)t->key,
			    .function = f->function,
			    .flags = how->flags,
			    .begin = f->begin,
			    .end = how->ticks > f->begin ? how->ticks : f->begin,
			    .sp = f->sp,
			    .result = how->result};
	bool is;

	v->ending = f->call;
	is = f->wanted && dt_filter_end(v->filter, &c);
	v->ending = NULL;
	return is;
}

/* Returns how many frames at the innermost one's sp are open because of a jump to the next one. */
static uint32_t chain_length(const struct stack *s)
{
	uint32_t n = 1;

	while (n < s->n && s->frame[s->n - 1 - n].jumped &&
	       s->frame[s->n - 1 - n].sp == s->frame[s->n - 1].sp)
		n++;
	return n;
}

/* Takes the innermost frame away; its verdict is decided by now, unless others have it, too. */
static void pop(struct dt_sieve *v, struct sieve_thread *t, struct stack *s,
		const struct ending *how)
{
	struct frame *f = &s->frame[s->n - 1];
	uint64_t ticks = how->ticks > f->begin ? how->ticks - f->begin : 0;
	uint32_t *open = open_count(t, f->function);
	bool outermost = true;

	if (open && *open)
		outermost = --*open == 0;
	if (dt_verdict_is(v, f->verdict) == VERDICT_DROP)
		dt_sieve_count(v, f->function, how->flags & DT_CALL_UNKNOWN ? UINT64_MAX : ticks,
			       f->children, outermost);
	if (!how->result) { /* its exit may come after all: this was another stack, perhaps */
		t->gone[t->gone_at].sp = f->sp;
		t->gone[t->gone_at].function = f->function;
		t->gone[t->gone_at++ % RECENT].verdict =
			dt_verdict_is(v, f->verdict) == VERDICT_DROP ? VERDICT_DROP : VERDICT_KEEP;
		t->gone_at %= RECENT;
	}
	dt_verdict_drop(v, f->verdict);
	dt_sieve_tell_sums(v, t, s, f, how);
	s->n--;
	v->frames--;
	if (s->n)
		s->frame[s->n - 1].children += ticks;
}

/* Ends the innermost call, and with it those that have jumped to it. */
static void end_chain(struct dt_sieve *v, struct sieve_thread *t, struct stack *s,
		      const struct ending *how)
{
	uint32_t n = chain_length(s);

	for (uint32_t i = s->n - n; i < s->n; i++)
		if (fits(v, t, &s->frame[i], how))
			dt_sieve_decide(v, s->frame[i].verdict, true);
	for (uint32_t i = s->n - n; i < s->n; i++)
		dt_sieve_decide(v, s->frame[i].verdict, false);
	for (; n; n--)
		pop(v, t, s, how);
}

/* Ends the calls below sp: they are gone. at: also those at sp. */
static void unwind(struct dt_sieve *v, struct sieve_thread *t, struct stack *s, uint64_t sp,
		   bool at, uint64_t ticks)
{
	const struct ending gone = {ticks, NULL, DT_CALL_UNWOUND};

	while (s->n && (s->frame[s->n - 1].sp < sp || (at && s->frame[s->n - 1].sp == sp))) {
		s->deeper = 0;
		end_chain(v, t, s, &gone);
	}
}

/* ---- stacks ---- */

static bool is_kernel(uint64_t sp)
{
	return sp >> 63;
}

static void remove_stack(struct dt_sieve *v, struct sieve_thread *t, struct stack *s)
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
		uint32_t *open = open_count(t, oldest->frame[i].function);

		if (open && *open)
			--*open;
		dt_sieve_decide(v, oldest->frame[i].verdict, true);
		dt_sieve_tell_sums(v, t, oldest, &oldest->frame[i], &gone);
	}
	remove_stack(v, t, oldest);
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

/* Returns the stack that a new frame at sp is on, which may be a new one; NULL: out of memory. */
static struct stack *place(struct dt_sieve *v, struct sieve_thread *t, uint64_t sp)
{
	struct stack *best = NULL, *s = t->now;
	uint64_t least = FAR;

	if (s && t->stacks == 1 && s->n && s->frame[s->n - 1].sp >= sp &&
	    s->frame[s->n - 1].sp - sp <= NEAR)
		return s;
	for (uint32_t i = 0; i < t->stacks; i++) {
		uint64_t d = t->stack[i]->kernel == is_kernel(sp) ? distance(t->stack[i], sp)
								  : UINT64_MAX;

		if (d < least || (d == least && t->stack[i] == t->now)) {
			best = t->stack[i];
			least = d;
		}
	}
	for (uint32_t i = 0; i < t->stacks && !best; i++) {
		s = t->stack[i];
		/* all of it is a little below: gone, unwound on its own stack */
		if (s->kernel == is_kernel(sp) &&
		    (!s->n || (s->frame[0].sp < sp && sp - s->frame[0].sp <= NEAR)))
			best = s;
	}
	return use(t, best ? best : new_stack(v, t, is_kernel(sp)));
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

/* Returns the stack with the frame that an exit belongs to; NULL: there is none. */
static struct stack *stack_of(struct sieve_thread *t, uint64_t sp, uint32_t function)
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

/* ---- records ---- */

static uint32_t remember(struct dt_sieve *v, struct sieve_thread *t, uint64_t sp, uint32_t verdict)
{
	dt_verdict_drop(v, t->last_verdict);
	t->last_sp = sp;
	t->last_verdict = dt_verdict_hold(v, verdict);
	return dt_verdict_hold(v, verdict);
}

/* Makes room for one more frame. False: out of memory. */
static bool grow(struct stack *s)
{
	struct frame *more;
	uint32_t room;

	if (!s->n && s->room > DEEP) { /* what was very deep once need not stay large */
		free(s->frame);
		s->frame = NULL;
		s->room = 0;
	}
	if (s->n < s->room)
		return true;
	room = s->room ? 2 * s->room : 32;
	more = realloc(s->frame, room * sizeof(*more));
	if (!more)
		return false;
	s->frame = more;
	s->room = room;
	return true;
}

/* Returns the verdict on a call that begins, with a reference. jumper: the call that has jumped to
 * it; NULL: none. */
static uint32_t judge_begin(struct dt_sieve *v, const struct frame *f, const struct frame *jumper)
{
	/* the end of what has jumped is that of what it has jumped to, which is in it */
	if (jumper && dt_verdict_is(v, jumper->verdict) != VERDICT_DROP)
		return dt_verdict_hold(v, jumper->verdict);
	if (!f->wanted)
		return VERDICT_DROP;
	return v->looks_at_end ? dt_verdict_new(v) : VERDICT_KEEP;
}

static uint32_t entry(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
		      unsigned core, const struct dt_store_place *at)
{
	struct stack *s = place(v, t, r->sp);
	struct frame *caller, *f;
	struct dt_call c = {.tid = r->tid,
			    .function = at->function,
			    .begin = r->ticks,
			    .end = r->ticks,
			    .sp = r->sp,
			    .argument = r->value};
	uint32_t *open = open_count(t, at->function);
	uint32_t around;
	bool jumped;

	if (!s || !grow(s) || !open) {
		v->no_memory = true;
		return VERDICT_KEEP;
	}
	jumped = s->n && s->frame[s->n - 1].sp == r->sp && s->frame[s->n - 1].jumped;
	unwind(v, t, s, r->sp, !jumped, r->ticks);
	if (!s->n && !s->kernel) {
		s->depth = 0;
		s->around = (uint8_t)dt_filter_nobody(v->filter);
		s->note = v->sums ? dt_sums_nobody(v->sums) : 0;
	}
	if (v->frames >= FRAMES) {
		v->sums_missed++;
		s->deeper++;
		return remember(v, t, r->sp, VERDICT_KEEP);
	}
	caller = s->n ? &s->frame[s->n - 1] : NULL;
	around = caller ? caller->around : s->around;
	c.depth = s->depth + s->n;
	f = &s->frame[s->n];
	*f = (struct frame){.sp = r->sp,
			    .begin = r->ticks,
			    .function = at->function,
			    .around = (uint8_t)dt_filter_around(v->filter, around, at->function),
			    .wanted = dt_filter_place(v->filter, 0, r->tid) &&
				      dt_filter_begin(v->filter, &c, around)};
	if (v->sums || v->filter_texts)
		dt_sieve_sums_begin(v, f, &c, caller ? caller->note : s->note, r, core);
	if (at->place == DT_SITE_ENTRY_ALONE) { /* its end is not known */
		bool keep = f->wanted;

		if (keep && v->filter_texts) { /* its texts are still to come */
			f->verdict = dt_verdict_new(v);
			t->alone = *f;
			t->alone_stack = s;
			return remember(v, t, r->sp, f->verdict);
		}
		c.flags = DT_CALL_NO_EXIT;
		if (keep && v->looks_at_end)
			keep = dt_filter_end(v->filter, &c);
		if (!keep)
			dt_sieve_count(v, at->function, UINT64_MAX, 0, true);
		t->alone = *f;
		t->alone_stack = s;
		return remember(v, t, r->sp, keep ? VERDICT_KEEP : VERDICT_DROP);
	}
	f->verdict = judge_begin(v, f, jumped ? caller : NULL);
	++*open;
	s->n++;
	v->frames++;
	return remember(v, t, r->sp, f->verdict);
}

void dt_sieve_judge_alone(struct dt_sieve *v, struct sieve_thread *t)
{
	struct frame *f = &t->alone;
	const struct ending how = {f->begin, NULL, DT_CALL_NO_EXIT};

	dt_sieve_decide(v, f->verdict, fits(v, t, f, &how));
	if (dt_verdict_is(v, f->verdict) == VERDICT_DROP)
		dt_sieve_count(v, f->function, UINT64_MAX, 0, true);
	dt_verdict_drop(v, f->verdict);
	f->verdict = VERDICT_KEEP;
}

/* Returns the verdict on an exit that belongs to no open call. */
static uint32_t orphan(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
		       const struct dt_store_place *at)
{
	struct dt_call c = {.tid = r->tid,
			    .function = at->function,
			    .flags = DT_CALL_NO_ENTRY,
			    .begin = r->ticks,
			    .end = r->ticks,
			    .sp = r->sp,
			    .result = at->place == DT_SITE_TAIL ? NULL : r->value};
	bool wanted;

	for (unsigned i = 0; i < RECENT; i++)
		if (t->gone[i].function == at->function && t->gone[i].sp == r->sp) {
			t->gone[i].function = 0;
			return t->gone[i].verdict;
		}
	if (v->late) /* its entry may have been written before */
		return VERDICT_KEEP;
	wanted = dt_filter_place(v->filter, 0, r->tid) &&
		 dt_filter_begin(v->filter, &c, dt_filter_nobody(v->filter)) &&
		 (!v->looks_at_end || dt_filter_end(v->filter, &c));
	if (!wanted)
		dt_sieve_count(v, at->function, UINT64_MAX, 0, true);
	return wanted ? VERDICT_KEEP : VERDICT_DROP;
}

/* Handles a tail jump of the innermost call. */
static uint32_t jump(struct dt_sieve *v, struct sieve_thread *t, struct stack *s,
		     const struct dt_record *r)
{
	const struct ending left = {r->ticks, NULL, DT_CALL_TAIL | DT_CALL_LEFT};
	struct frame *f = &s->frame[s->n - 1];
	uint32_t verdict = dt_verdict_hold(v, f->verdict);

	f->jumped = true;
	/* a loop of tail calls must not fill the memory; pairing does the same. What has been
	 * popped undecided could not be counted later */
	if (chain_length(s) > CHAIN) {
		dt_sieve_decide(v, f->verdict, true);
		pop(v, t, s, &left);
	}
	return verdict;
}

static uint32_t leave(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
		      const struct dt_store_place *at)
{
	struct ending how = {r->ticks, r->value, 0};
	struct stack *s = stack_of(t, r->sp, at->function);
	uint64_t sp = r->sp;
	uint32_t verdict;

	/* libc's resolver of names jumps on with two words less on the stack than it was called
	 * with */
	if (!s && at->place == DT_SITE_TAIL && t->now && t->now->n &&
	    t->now->frame[t->now->n - 1].function == at->function &&
	    sp - t->now->frame[t->now->n - 1].sp <= 16) {
		s = t->now;
		sp = s->frame[s->n - 1].sp;
	}
	if (!s && t->now && t->now->deeper) {
		t->now->deeper -= at->place != DT_SITE_TAIL;
		return VERDICT_KEEP;
	}
	if (!s)
		return orphan(v, t, r, at);
	s->deeper = 0;
	unwind(v, t, s, sp, false, r->ticks);
	if (at->place == DT_SITE_TAIL)
		return jump(v, t, s, r);
	verdict = dt_verdict_hold(v, s->frame[s->n - 1].verdict);
	end_chain(v, t, s, &how);
	if (!s->n && t->stacks > 1)
		remove_stack(v, t, s);
	return verdict;
}

/* Takes a record behind the last call's entry: a text that an argument points to, or arguments. */
static void take_behind(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
			const struct dt_store_place *at)
{
	const struct stack *s = t->now;
	struct sieve_call *call = NULL;

	if (t->alone.call && t->alone.sp == r->sp)
		call = t->alone.call;
	else if (s && s->n && s->frame[s->n - 1].sp == r->sp)
		call = s->frame[s->n - 1].call;
	if (call)
		v->no_memory |= !dt_behind_take(&call->behind, &v->behinds, at, r->value,
						r->flags & DT_FAULT);
}

uint32_t dt_sieve_judge(struct dt_sieve *v, const struct dt_record *r, unsigned core,
			const struct dt_store_place *at)
{
	struct sieve_thread *t;

	if (r->kind == DT_SWITCH || r->kind == DT_RUNDOWN)
		return VERDICT_KEEP;
	t = thread_of(v, r, core);
	if (!t) {
		v->no_memory = true;
		return VERDICT_KEEP;
	}
	if (r->kind == DT_MORE && v->behind && dt_behind_is(at->place))
		take_behind(v, t, r, at);
	if (r->kind == DT_MORE)
		return r->sp == t->last_sp ? dt_verdict_hold(v, t->last_verdict) : VERDICT_KEEP;
	if (t->alone.call || t->alone.verdict >= VERDICT_FIRST)
		dt_sieve_sums_alone(v, t);
	if ((r->kind == DT_ENTRY || r->kind == DT_EXIT) && at->function < v->functions) {
		if (!t->whole && !v->one_rule && v->changes_stack[at->function] &&
		    dt_filter_place(v->filter, 0, r->tid))
			dt_sieve_make_whole(v, t);
		if (t->whole)
			return remember(v, t, r->sp, dt_sieve_judge_whole(v, t, r, core, at));
	}
	if (r->kind == DT_ENTRY && at->function)
		return entry(v, t, r, core, at);
	if (r->kind == DT_EXIT && at->function)
		return leave(v, t, r, at);
	/* what is no call is wanted as its thread is */
	return remember(v, t, r->sp,
			dt_filter_place(v->filter, 0, r->tid) ? VERDICT_KEEP : VERDICT_DROP);
}

/* Calls fn for each frame of all threads. */
static void each_frame(struct dt_sieve *v, void (*fn)(struct dt_sieve *v, struct sieve_thread *t,
						      struct stack *s, struct frame *f))
{
	for (size_t i = 0; i < v->thread_room; i++)
		for (uint32_t k = 0; v->thread[i] && k < v->thread[i]->stacks; k++)
			for (uint32_t n = 0; n < v->thread[i]->stack[k]->n; n++)
				fn(v, v->thread[i], v->thread[i]->stack[k],
				   &v->thread[i]->stack[k]->frame[n]);
}

static void keep(struct dt_sieve *v, struct sieve_thread *t, struct stack *s, struct frame *f)
{
	if (f->call)
		f->call->lossy = true;
	dt_sieve_decide(v, f->verdict, true);
}

void dt_sieve_lossy(struct dt_sieve *v)
{
	each_frame(v, keep);
}

static void close_open(struct dt_sieve *v, struct sieve_thread *t, struct stack *s, struct frame *f)
{
	const struct ending open = {v->now, NULL, DT_CALL_OPEN};

	dt_sieve_decide(v, f->verdict, fits(v, t, f, &open));
	if (dt_verdict_is(v, f->verdict) == VERDICT_DROP)
		dt_sieve_count(v, f->function, UINT64_MAX, 0, true);
	dt_sieve_tell_sums(v, t, s, f, &open);
}

void dt_sieve_finish(struct dt_sieve *v)
{
	for (size_t i = 0; i < v->thread_room; i++)
		if (v->thread[i])
			dt_sieve_sums_alone(v, v->thread[i]);
	each_frame(v, close_open);
}
