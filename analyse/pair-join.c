/* SPDX-License-Identifier: MIT */
/*
 * Joining parts of a trace (pair.h): looking whether what a part has found about the calls outside
 * holds of the calls that were open before it, and bringing these to where the part ends.
 */
#include "analyse/pair-work.h"

#include <stdlib.h>

/* ---- making a part ---- */

static bool is_of_program(uint8_t kind, uint64_t sp)
{
	return (kind == DT_ENTRY || kind == DT_EXIT || kind == DT_POINT || kind == DT_EVENT ||
		kind == DT_SEND || kind == DT_RECEIVE) &&
	       sp && !dt_pair_in_kernel(sp);
}

/* Begins with a thread at its first record: as if the one before had been at the same time. */
static int begin_thread(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s)
{
	const struct dt_site *site = dt_reader_site(p->reader, s->site[0]);
	uint8_t kind = site->kind;

	t->outside = dt_part_thread_new();
	if (!t->outside)
		return -1;
	t->last_ticks = t->outside->first = s->ticks[0];
	t->last_core = t->outside->first_core = s->core;
	t->outside->first_lost = s->lost && s->lost_others;
	t->outside->first_own = s->sp[0] && !dt_pair_in_kernel(s->sp[0]);
	t->outside->first_of_program = is_of_program(kind, s->sp[0]);
	t->outside->first_open = kind == DT_ENTRY && site->place != DT_SITE_ENTRY_ALONE;
	/* that continues a record of the part before */
	p->spoiled |= kind == DT_MORE;
	return 0;
}

int dt_part_span(struct dt_pair *p, const struct dt_span *s)
{
	struct dt_thread_stack *t;

	if (s->n && s->tid == DT_NO_TID) { /* an interrupt, or who is on the cores */
		p->spoiled = true;
		return 0;
	}
	if (s->n) {
		t = dt_pair_thread(p, s->tid);
		if (!t || (!t->outside && begin_thread(p, t, s)))
			return -1;
	}
	return dt_pair_span(p, s);
}

bool dt_part_is_spoiled(const struct dt_pair *p)
{
	return p->spoiled;
}

int dt_part_finish(struct dt_pair *p, struct dt_part *part)
{
	*part = (struct dt_part){.impossible = p->impossible, .spoiled = p->spoiled};
	part->thread = calloc(p->used + 1, sizeof(*part->thread));
	for (size_t i = 0; part->thread && i < p->size; i++) {
		if (!p->thread[i])
			continue;
		dt_part_close(p->thread[i]->outside, p->thread[i]);
		part->thread[part->threads++] = p->thread[i];
		p->thread[i] = NULL;
	}
	p->used = part->thread ? 0 : p->used;
	p->last = NULL;
	p->said = NULL;
	p->impossible = 0;
	p->spoiled = false;
	return part->thread ? 0 : -1;
}

void dt_part_free(struct dt_part *part)
{
	for (size_t i = 0; i < part->threads; i++) {
		dt_stack_free(part->thread[i]);
		dt_part_thread_free(part->thread[i]->outside);
		free(part->thread[i]);
	}
	free(part->thread);
	*part = (struct dt_part){0};
}

/* ---- looking whether it fits ---- */

/* Returns whether the stacks are such that a thread's records can be handled by its current stack
 * alone: all others are further out. */
static bool is_on_one_stack(const struct dt_thread_stack *t)
{
	const struct dt_segment *s = t->current;

	if (!s || !s->n)
		return s ? t->segments == 1 : t->segments == 0;
	if (s->kept || s->doubtful || t->floor)
		return false;
	for (uint32_t i = 0; i < t->segments; i++) {
		const struct dt_segment *other = t->segment[i];

		if (other != s && (other->kept || !other->n ||
				   other->frame[other->n - 1].call.sp <= s->frame[0].call.sp))
			return false;
	}
	return true;
}

/* Returns whether nothing happened to a thread between its last record and the first one of the
 * part that would have to be handled there. */
static bool follows(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_part_thread *o)
{
	size_t execs;

	dt_reader_execs(p->reader, &execs);
	if (t->execs != execs + 1) {
		t->execs = execs + 1;
		t->next_exec = dt_reader_exec(p->reader, t->tid, dt_pair_newest(t));
	}
	if (t->holds_known != dt_pair_known_times(p))
		dt_pair_find_holds(p, t);
	if (t->tail_sp || t->leaving || t->last_ticks > o->first || t->next_pause < o->first)
		return false;
	if (t->next_exec <= o->first && (t->segments || !o->first_of_program))
		return false;
	return !p->any_loss || !t->last_ticks ||
	       (!o->first_lost && !dt_losses_between(p, t->last_core, t->last_ticks, o->first) &&
		!dt_losses_between(p, o->first_core, t->last_ticks, o->first));
}

/* Returns how many frames of s are left when the n-th one has ended as a level says: if there was
 * an exit, those that had jumped to it have ended, too. */
static uint32_t frames_left(const struct dt_segment *s, uint32_t n, const struct dt_part_level *v)
{
	uint64_t sp = s->frame[n - 1].call.sp;

	for (n--; v->exit && n && s->frame[n - 1].call.sp == sp && s->frame[n - 1].jump; n--)
		;
	return n;
}

/* Returns the index of the innermost of the first n frames that is of a function; -1: none is. */
static int64_t innermost(const struct dt_segment *s, uint32_t n, uint32_t function)
{
	int64_t i = n;

	while (--i >= 0 && s->frame[i].call.function != function)
		;
	return i;
}

/* Returns whether the calls in the part that are within one of the same function outside are all
 * near enough to that one to count in it. */
static bool are_in_reach(struct dt_thread_stack *t, const struct dt_part_time *time, size_t times,
			 uint32_t n)
{
	for (size_t i = 0; i < times; i++) {
		uint32_t *open = dt_open_count(&t->open, time[i].function);
		int64_t outer = open && *open ? innermost(t->current, n, time[i].function) : -1;

		if (outer >= 0 && outer + DT_PAIR_REACH < (int64_t)n + time[i].deepest)
			return false;
	}
	return true;
}

/* Returns how many frames below the n-th one are there because of a jump to the next one. */
static uint32_t chained(const struct dt_segment *s, uint32_t n)
{
	uint64_t sp = s->frame[n - 1].call.sp;
	uint32_t i = n - 1;

	while (i && s->frame[i - 1].call.sp == sp)
		i--;
	return n - 1 - i;
}

/* Returns whether the n-th frame has jumped to the call that began with the part. */
static bool has_jumped(const struct dt_thread_stack *t, const struct dt_part_level *v, uint32_t n)
{
	const struct dt_stack_frame *f = n ? &t->current->frame[n - 1] : NULL;

	return v->first && f && f->call.sp == v->sp && dt_pair_has_landed(t, f, v->function);
}

/* Returns whether the call that began with the part was called from the n-th frame, or whether it
 * is known what its end means if that one jumped to it. */
static bool is_first(const struct dt_thread_stack *t, const struct dt_part_level *v, uint32_t n)
{
	const struct dt_stack_frame *f = &t->current->frame[n - 1];

	if (has_jumped(t, v, n))
		return (v->exit || !v->ended) &&
		       v->chain + 1 + chained(t->current, n) <= DT_CALL_CHAIN;
	return f->jump == DT_JUMP_NONE && f->call.sp > v->sp && f->call.sp - v->sp <= DT_STACK_NEAR;
}

/* Returns whether what a level says holds of the n-th frame. */
static bool is_level(const struct dt_thread_stack *t, const struct dt_part_level *v, uint32_t n)
{
	const struct dt_segment *s = t->current;
	const struct dt_stack_frame *f = &s->frame[n - 1];

	if (v->first)
		return is_first(t, v, n);
	if (f->jump != DT_JUMP_NONE)
		return false;
	if (v->highest >= v->lowest &&
	    (f->call.sp <= v->highest || f->call.sp - v->lowest > DT_STACK_NEAR))
		return false;
	if (!v->met)
		return true;
	/* what a jump leads to depends on losses, and on how many have been made there */
	if (v->jumped && f->losses != t->losses)
		return false;
	if (v->chain + chained(s, n) > DT_CALL_CHAIN)
		return false;
	return f->call.function == v->function && f->call.sp == v->sp;
}

static bool fits(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_part_thread *o)
{
	uint32_t n = t->current ? t->current->n : 0;
	size_t time = 0;

	if (!follows(p, t, o) || !is_on_one_stack(t))
		return false;
	for (size_t i = 0; i < o->levels; i++) {
		const struct dt_part_level *v = &o->level[i];

		/* with no frames left, the thread would be on the stack below */
		if (n ? !is_level(t, v, n) : t->segments > 1 || v->needed || v->met)
			return false;
		if (n && !are_in_reach(t, o->time + time, v->times - time, n))
			return false;
		time = v->times;
		if (v->ended && n && (!v->first || has_jumped(t, v, n)))
			n = frames_left(t->current, n, v);
	}
	return true;
}

/* ---- joining ---- */

struct joining {
	struct dt_pair *p;
	struct dt_thread_stack *t, *from; /* from: of the part */
	/* what the thread had come to at the part's first record */
	uint64_t held;
	uint32_t losses, pauses;
	void (*recursive)(void *ctx, uint32_t function, uint64_t ticks);
	void *ctx;
};

static void join_times(const struct joining *j, const struct dt_part_time *time, size_t times)
{
	struct dt_segment *s = j->t->current;

	for (size_t i = 0; i < times; i++) {
		uint32_t *open = dt_open_count(&j->t->open, time[i].function);
		int64_t outer;

		if (!open) {
			j->p->no_memory = true;
			return;
		}
		if (!*open)
			continue;
		j->recursive(j->ctx, time[i].function, time[i].ticks);
		outer = s ? innermost(s, s->n, time[i].function) : -1;
		if (outer >= 0)
			s->frame[outer].inner += time[i].ticks;
	}
}

/* Ends the innermost frame, with those that had jumped to it, as a level says. */
static void end_level(const struct joining *j, const struct dt_part_level *v)
{
	struct dt_thread_stack *t = j->t;

	j->p->now = v->now;
	t->held = j->held + v->held;
	t->losses = j->losses + v->losses;
	t->pauses = j->pauses + v->pauses;
	if (v->exit)
		dt_pair_pop_chain(j->p, t, t->current,
				  v->first ? v->flags | DT_CALL_TAIL : v->flags, v->exit);
	else
		dt_pair_pop(j->p, t, t->current, v->flags, 0);
	dt_pair_leave_empty(t, t->current);
}

static void join_levels(const struct joining *j)
{
	const struct dt_part_thread *o = j->from->outside;
	size_t time = 0;

	for (size_t i = 0; i < o->levels; i++) {
		const struct dt_part_level *v = &o->level[i];
		struct dt_stack_frame *f = j->t->current ? dt_pair_top(j->t->current) : NULL;
		bool jumped = f && has_jumped(j->t, v, j->t->current->n);

		join_times(j, o->time + time, v->times - time);
		time = v->times;
		if (f) {
			f->call.children += v->children;
			f->inner += v->inner;
		}
		if (jumped)
			f->jump = DT_JUMP_LANDED;
		if (v->ended && (!v->first || jumped))
			end_level(j, v);
	}
}

/* Takes a frame of the part onto the thread's stack. */
static int take_frame(const struct joining *j, struct dt_segment *s, const struct dt_stack_frame *f)
{
	struct dt_stack_frame *to;

	if (s->n == s->size && dt_segment_grow(s))
		return -1;
	to = &s->frame[s->n];
	*to = *f;
	to->open = dt_open_count(&j->t->open, f->call.function);
	if (!to->open)
		return -1;
	if ((*to->open)++)
		to->call.flags |= DT_CALL_RECURSIVE;
	to->call.id = ++j->p->last_id;
	to->call.parent = s->n ? to[-1].call.id : s->below_id;
	to->call.depth = s->depth + s->n;
	to->call.note = to->note;
	if (to->call.argument)
		to->call.argument = to->argument;
	to->held += j->held;
	to->losses += j->losses;
	to->pauses += j->pauses;
	s->n++;
	return 0;
}

static int take_frames(const struct joining *j)
{
	const struct dt_segment *from = j->from->current;
	struct dt_thread_stack *t = j->t;
	uint32_t i = 0;

	if (!from || !from->n)
		return 0;
	if (!t->current && !(t->current = dt_segment_new(t)))
		return -1;
	if (dt_part_is_outside(&from->frame[0])) {
		struct dt_stack_frame *f = dt_pair_top(t->current);

		f->jump = from->frame[0].jump;
		f->lands = from->frame[0].lands;
		i = 1;
	}
	for (; i < from->n; i++)
		if (take_frame(j, t->current, &from->frame[i]))
			return -1;
	return 0;
}

static int join(struct dt_pair *p, struct dt_thread_stack *t, struct dt_thread_stack *from,
		void (*recursive)(void *ctx, uint32_t function, uint64_t ticks), void *ctx)
{
	struct joining j = {.p = p, .t = t, .from = from, .recursive = recursive, .ctx = ctx};
	const struct dt_part_thread *o = from->outside;

	if (t->next_held < o->first)
		dt_pair_hold(t, o->first, o->first_own);
	j.held = t->held;
	j.losses = t->losses;
	j.pauses = t->pauses;
	join_levels(&j);
	if (take_frames(&j))
		return -1;
	t->held = j.held + from->held;
	t->losses = j.losses + from->losses;
	t->pauses = j.pauses + from->pauses;
	t->last_ticks = from->last_ticks;
	t->last_core = from->last_core;
	t->leaving = from->leaving;
	t->tail_sp = from->tail_sp;
	t->tail_lands = from->tail_lands;
	t->next_exec = from->next_exec;
	t->at = from->at;
	t->next_held = from->next_held;
	t->held_inside = from->held_inside;
	t->pause_at = from->pause_at;
	t->next_pause = from->next_pause;
	return 0;
}

int dt_part_join(struct dt_pair *p, struct dt_part *part,
		 void (*recursive)(void *ctx, uint32_t function, uint64_t ticks), void *ctx)
{
	if (part->spoiled)
		return 0;
	if (dt_facts_update(p))
		return -1;
	for (size_t i = 0; i < part->threads; i++) {
		struct dt_thread_stack *t = dt_pair_thread(p, part->thread[i]->tid);

		if (!t)
			return -1;
		if (!fits(p, t, part->thread[i]->outside))
			return 0;
	}
	for (size_t i = 0; i < part->threads; i++) {
		struct dt_thread_stack *t = dt_pair_thread(p, part->thread[i]->tid);

		if (join(p, t, part->thread[i], recursive, ctx))
			return -1;
	}
	p->impossible += part->impossible;
	return p->no_memory ? -1 : 0 + 1;
}
