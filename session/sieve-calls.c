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

#define CHAIN	   16	 /* see DT_CALL_CHAIN */
#define MOVED_MOST 16384 /* bytes; see DT_STACK_NEAR */

/* ---- sums of what is left out ---- */

bool dt_sieve_more_lefts(struct dt_sieve *v, uint32_t function)
{
	uint32_t n = function + 1 + function / 2;
	struct left *more = realloc(v->left, n * sizeof(*more));

	if (!more) {
		v->no_memory = true;
		return false;
	}
	memset(more + v->lefts, 0, (n - v->lefts) * sizeof(*more));
	v->left = more;
	v->lefts = n;
	return true;
}

void dt_sieve_merge_left(struct dt_sieve *v, const struct dt_left_out_row *some)
{
	struct dt_left_out_row *l = dt_sieve_left_of(v, some->function);

	v->counts.calls += some->calls + some->untimed;
	if (!l)
		return;
	if (some->calls && (!l->calls || some->min < l->min))
		l->min = some->min;
	if (some->max > l->max)
		l->max = some->max;
	l->calls += some->calls;
	l->untimed += some->untimed;
	l->total += some->total;
	l->self += some->self;
}

/* ---- ends of calls ---- */

void dt_sieve_decide(struct dt_sieve *v, uint32_t verdict, bool keep)
{
	if (verdict < VERDICT_FIRST || v->verdict[verdict].is != UNDECIDED)
		return;
	v->verdict[verdict].is = keep ? VERDICT_KEEP : VERDICT_DROP;
	if (v->verdict[verdict].left)
		dt_sieve_request_decided(v, verdict);
}

void dt_sieve_tell_sums(struct dt_sieve *v, const struct sieve_thread *t, const struct stack *s,
			struct frame *f, const struct ending *how)
{
	if (f->call) {
		const struct dt_call ended = {.end = how->ticks,
					      .held = dt_sieve_held_in(t, f, how->ticks),
					      .result = how->result,
					      .flags = how->flags};

		dt_sieve_sums_end(v, t, s, f, &ended);
	}
}

static bool fits(struct dt_sieve *v, const struct sieve_thread *t, const struct frame *f,
		 const struct ending *how)
{
	struct dt_call *c = &v->call;
	bool is;

	if (!f->wanted)
		return false;
	c->tid = (uint32_t)t->key;
	c->function = f->function;
	c->flags = how->flags;
	c->begin = f->begin;
	c->end = how->ticks > f->begin ? how->ticks : f->begin;
	c->held = dt_sieve_held_in(t, f, how->ticks);
	c->sp = f->sp;
	c->depth = 0;
	c->argument = NULL;
	c->result = how->result;
	v->ending = f->call;
	is = dt_filter_end(v->filter, c);
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
	uint64_t held = dt_sieve_held_in(t, f, how->ticks);
	uint64_t ticks = how->ticks > f->begin ? how->ticks - f->begin - held : 0;
	uint32_t *open = dt_sieve_open_count(t, f->function);
	bool outermost = true;

	if (open && *open)
		outermost = --*open == 0;
	if (dt_verdict_is(v, f->verdict) == VERDICT_DROP)
		dt_sieve_count(v, f->function, how->flags & DT_CALL_UNKNOWN ? UINT64_MAX : ticks,
			       f->children, outermost);
	else if (f->within && dt_verdict_is(v, f->verdict) == UNDECIDED)
		dt_sieve_request_left(v, f->verdict, f->function,
				      how->flags & DT_CALL_UNKNOWN ? UINT64_MAX : ticks,
				      f->children, outermost);
	if (f->request)
		dt_sieve_request_end(v, t);
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
		if (!s->frame[i].within)
			dt_sieve_decide(v, s->frame[i].verdict, false);
	for (; n; n--)
		pop(v, t, s, how);
}

void dt_sieve_unwind_frames(struct dt_sieve *v, struct sieve_thread *t, struct stack *s,
			    uint64_t sp, bool at, uint64_t ticks)
{
	const struct ending gone = {ticks, NULL, DT_CALL_UNWOUND};

	while (s->n && (s->frame[s->n - 1].sp < sp || (at && s->frame[s->n - 1].sp == sp))) {
		s->deeper = 0;
		end_chain(v, t, s, &gone);
	}
}

/* ---- records ---- */

/* Makes room for one more frame. False: out of memory. */
static bool grow(struct stack *s)
{
	struct frame *more;
	uint32_t room;

	if (!s->n && s->room > SIEVE_DEEP) { /* what was very deep once need not stay large */
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

/* Takes an entry as a part of the call that has jumped to it, if both functions are recorded only
 * where certain modules call them (analyse/pair.h). */
static bool fold(struct frame *caller, const struct dt_store_place *at)
{
	if (!at->crossing || !caller->crossing || at->place == DT_SITE_ENTRY_ALONE)
		return false;
	caller->folded = true;
	caller->jumped = false;
	return true;
}

/* Returns the verdict on a call whose end is not known: it begins no request. */
static uint32_t alone_in_request(struct dt_sieve *v, struct sieve_thread *t, struct stack *s,
				 struct frame *f)
{
	uint32_t verdict = t->in_request ? t->request : VERDICT_DROP;

	if (dt_verdict_is(v, verdict) == VERDICT_DROP)
		dt_sieve_count(v, f->function, UINT64_MAX, 0, true);
	else if (dt_verdict_is(v, verdict) == UNDECIDED)
		dt_sieve_request_left(v, verdict, f->function, UINT64_MAX, 0, true);
	t->alone = *f;
	t->alone_stack = s;
	return dt_sieve_remember(v, t, f->sp, verdict);
}

static uint32_t entry(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
		      unsigned core, const struct dt_store_place *at)
{
	struct stack *s = dt_sieve_place(v, t, r->sp);
	struct frame *caller, *f;
	struct dt_call *c;
	uint32_t *open = dt_sieve_open_count(t, at->function);
	uint32_t around;
	bool jumped;

	if (!s || !grow(s) || !open) {
		v->no_memory = true;
		return VERDICT_KEEP;
	}
	jumped = s->n && s->frame[s->n - 1].sp == r->sp && s->frame[s->n - 1].jumped;
	dt_sieve_unwind(v, t, s, r->sp, !jumped, r->ticks);
	if (!s->n)
		dt_sieve_stack_empty(v, s);
	if (v->frames >= FRAMES) {
		v->sums_missed++;
		s->deeper++;
		return dt_sieve_remember(v, t, r->sp, VERDICT_KEEP);
	}
	caller = s->n ? &s->frame[s->n - 1] : NULL;
	if (jumped && fold(caller, at))
		return dt_sieve_remember(v, t, r->sp, dt_verdict_hold(v, caller->verdict));
	around = caller ? caller->around : s->around;
	c = dt_sieve_call_at(v, r, at->function, s->depth + s->n);
	f = &s->frame[s->n];
	*f = (struct frame){.sp = r->sp,
			    .begin = r->ticks,
			    .held = dt_sieve_held_at(t, r->ticks),
			    .captured = t->captured,
			    .function = at->function,
			    .crossing = at->crossing,
			    .around = (uint8_t)dt_filter_around(v->filter, around, at->function),
			    .wanted = dt_filter_place(v->filter, dt_sieve_core(r, core), r->tid) &&
				      dt_filter_begin(v->filter, c, around)};
	if (v->sums || v->filter_texts)
		dt_sieve_sums_begin(v, f, c, caller ? caller->note : s->note, r, core);
	if (at->place == DT_SITE_ENTRY_ALONE && v->requests)
		return alone_in_request(v, t, s, f);
	if (at->place == DT_SITE_ENTRY_ALONE) { /* its end is not known */
		bool keep = f->wanted;

		if (keep && v->filter_texts) { /* its texts are still to come */
			f->verdict = dt_verdict_new(v);
			t->alone = *f;
			t->alone_stack = s;
			return dt_sieve_remember(v, t, r->sp, f->verdict);
		}
		c->flags = DT_CALL_NO_EXIT;
		if (keep && v->looks_at_end)
			keep = dt_filter_end(v->filter, c);
		if (!keep)
			dt_sieve_count(v, at->function, UINT64_MAX, 0, true);
		t->alone = *f;
		t->alone_stack = s;
		return dt_sieve_remember(v, t, r->sp, keep ? VERDICT_KEEP : VERDICT_DROP);
	}
	f->verdict = v->requests ? dt_sieve_request_begin(v, t, f)
				 : judge_begin(v, f, jumped ? caller : NULL);
	++*open;
	s->n++;
	v->frames++;
	return dt_sieve_remember(v, t, r->sp, f->verdict);
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
		       unsigned core, const struct dt_store_place *at)
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
	if (v->requests && t->in_request && dt_verdict_is(v, t->request) != VERDICT_DROP)
		return dt_verdict_hold(v, t->request);
	wanted = !v->requests && dt_filter_place(v->filter, dt_sieve_core(r, core), r->tid) &&
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
	f->folded = false;
	/* a loop of tail calls must not fill the memory; pairing does the same. What has been
	 * popped undecided could not be counted later */
	if (chain_length(s) > CHAIN) {
		if (!f->within)
			dt_sieve_decide(v, f->verdict, true);
		pop(v, t, s, &left);
	}
	return verdict;
}

/*
 * Returns the sp at which the call began that ends by an exit at an sp where no call did: its
 * function has moved its return address, as in analyse/pair-exits.c. Returns `sp' if there is none.
 * Returns below the innermost call may be those of parts that were called: these end nothing here.
 */
static uint64_t moved(const struct sieve_thread *t, uint64_t sp, const struct dt_store_place *at)
{
	const struct stack *s = t->now;
	const bool tail = at->place == DT_SITE_TAIL;
	uint32_t above = s ? s->n : 0, i;
	uint64_t began;

	if (!above || s->kernel || sp >> 63)
		return sp;
	while (above && s->frame[above - 1].sp < sp)
		above--;
	for (i = above; i < s->n && s->frame[i].function != at->function;)
		i++;
	if (i == s->n && above == s->n && tail)
		i--;
	if (i == s->n || s->frame[i].function != at->function)
		return sp;
	began = s->frame[i].sp;
	if (tail && i == s->n - 1 && began < sp && sp - began <= 16)
		return began;
	return i && (sp > began ? sp - began : began - sp) <= MOVED_MOST ? began : sp;
}

static uint32_t leave(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
		      unsigned core, const struct dt_store_place *at)
{
	struct ending how = {r->ticks, r->value, 0};
	struct stack *s = dt_sieve_stack_of(t, r->sp, at->function);
	uint64_t sp = r->sp;
	uint32_t verdict;

	if (!s && (sp = moved(t, r->sp, at)) != r->sp)
		s = t->now;
	if (!s && t->now && t->now->deeper) {
		t->now->deeper -= at->place != DT_SITE_TAIL;
		return VERDICT_KEEP;
	}
	if (!s)
		return orphan(v, t, r, core, at);
	s->deeper = 0;
	dt_sieve_unwind(v, t, s, sp, false, r->ticks);
	dt_sieve_end_copy(t, &how, sp);
	if (at->place == DT_SITE_TAIL)
		return jump(v, t, s, r);
	verdict = dt_verdict_hold(v, s->frame[s->n - 1].verdict);
	end_chain(v, t, s, &how);
	if (!s->n && t->stacks > 1)
		dt_sieve_remove_stack(v, t, s);
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
	else if (s && s->n && s->frame[s->n - 1].sp == r->sp &&
		 (!s->frame[s->n - 1].folded || t->leaving))
		call = s->frame[s->n - 1].call;
	if (call)
		v->no_memory |= !dt_behind_take(&call->behind, &v->behinds, at, r->value,
						r->flags & DT_FAULT);
}

/* What is recorded behind an entry, or before an exit, has been copied by the hook meanwhile. */
static void note_time(struct sieve_thread *t, const struct dt_record *r,
		      const struct dt_store_place *at)
{
	const bool leaving = at->place == DT_SITE_POINT_LEAVING;

	if (r->kind == DT_MORE ? !leaving || t->leaving : r->kind == DT_EXIT && t->leaving)
		dt_sieve_capture(t, r->ticks);
	else if (!dt_sieve_held_none(t, t->last_ticks, r->ticks) &&
		 !dt_sieve_held_look(t, t->last_ticks, r->ticks))
		t->captured += dt_sieve_held_behind(t, t->last_ticks, r->ticks);
	if (r->kind == DT_EXIT)
		t->leaving = false;
	t->leaving |= leaving;
	t->last_ticks = r->ticks;
}

uint32_t dt_sieve_judge(struct dt_sieve *v, const struct dt_record *r, unsigned core,
			const struct dt_store_place *at)
{
	struct sieve_thread *t;

	if (dt_kind_is_about(r->kind))
		return VERDICT_KEEP;
	t = dt_sieve_thread_of(v, r, core);
	if (!t) {
		v->no_memory = true;
		return VERDICT_KEEP;
	}
	note_time(t, r, at);
	if (r->kind == DT_MORE && v->session->unwinder && dt_sieve_is_stack(at->place))
		return dt_sieve_take_stack(v, t, r, at);
	if (r->kind == DT_MORE && v->behind && dt_behind_is(at->place))
		take_behind(v, t, r, at);
	if (r->kind == DT_MORE)
		return r->sp == t->last_sp ? dt_verdict_hold(v, t->last_verdict) : VERDICT_KEEP;
	if (t->alone.call || t->alone.verdict >= VERDICT_FIRST)
		dt_sieve_sums_alone(v, t);
	if ((r->kind == DT_ENTRY || r->kind == DT_EXIT) && at->function < v->functions) {
		if (!t->whole && !v->one_rule && v->changes_stack[at->function] &&
		    dt_filter_thread(v->filter, r->tid))
			dt_sieve_make_whole(v, t);
		if (t->whole)
			return dt_sieve_remember(v, t, r->sp,
						 dt_sieve_judge_whole(v, t, r, core, at));
	}
	if (r->kind == DT_ENTRY && at->function)
		return entry(v, t, r, core, at);
	if (r->kind == DT_EXIT && at->function) {
		uint32_t verdict = leave(v, t, r, core, at);

		if (t->copy && t->copy->sp == r->sp)
			dt_sieve_free_copy(v, t);
		return verdict;
	}
	/* of a thread of which all calls are written, its events are, too */
	if (v->requests && !t->whole)
		return dt_sieve_remember(v, t, r->sp, t->in_request ? t->request : VERDICT_DROP);
	/* what is no call is wanted as its core and thread are */
	return dt_sieve_remember(v, t, r->sp,
				 dt_filter_place(v->filter, dt_sieve_core(r, core), r->tid)
					 ? VERDICT_KEEP
					 : VERDICT_DROP);
}

typedef void frame_fn(struct dt_sieve *v, struct sieve_thread *t, struct stack *s, struct frame *f);

/* Calls fn for each frame of a thread. */
static void each_frame_of(struct dt_sieve *v, struct sieve_thread *t, frame_fn *fn)
{
	for (uint32_t k = 0; k < t->stacks; k++)
		for (uint32_t n = 0; n < t->stack[k]->n; n++)
			fn(v, t, t->stack[k], &t->stack[k]->frame[n]);
}

static void each_frame(struct dt_sieve *v, frame_fn *fn)
{
	for (size_t i = 0; i < v->thread_room; i++)
		if (v->thread[i])
			each_frame_of(v, v->thread[i], fn);
}

static void keep(struct dt_sieve *v, struct sieve_thread *t, struct stack *s, struct frame *f)
{
	if (f->call)
		f->call->lossy = true;
	dt_sieve_decide(v, f->verdict, true);
}

void dt_sieve_lossy(struct dt_sieve *v)
{
	v->losses++;
	each_frame(v, keep);
}

static void close_open(struct dt_sieve *v, struct sieve_thread *t, struct stack *s, struct frame *f)
{
	const struct ending open = {v->now, NULL, DT_CALL_OPEN};

	if (!f->within)
		dt_sieve_decide(v, f->verdict, fits(v, t, f, &open));
	if (dt_verdict_is(v, f->verdict) == VERDICT_DROP)
		dt_sieve_count(v, f->function, UINT64_MAX, 0, true);
	else if (f->within && dt_verdict_is(v, f->verdict) == UNDECIDED)
		dt_sieve_request_left(v, f->verdict, f->function, UINT64_MAX, 0, true);
	dt_sieve_tell_sums(v, t, s, f, &open);
}

void dt_sieve_close(struct dt_sieve *v, struct sieve_thread *t)
{
	dt_sieve_sums_alone(v, t);
	each_frame_of(v, t, close_open);
}

void dt_sieve_finish(struct dt_sieve *v)
{
	for (size_t i = 0; i < v->thread_room; i++)
		if (v->thread[i])
			dt_sieve_close(v, v->thread[i]);
}
