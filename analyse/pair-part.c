/* SPDX-License-Identifier: MIT */
/*
 * What a part of a trace says of the calls outside (pair.h). Where more would have to be known of
 * them than is noted, the part is spoiled: it has to be paired again after what was before it.
 *
 * The rules of pairing (pair.c) look at frames near a stack pointer. As long as there is a frame of
 * the part above it, they find the same as with the calls outside. Otherwise all frames of the part
 * on the stack are gone, and the record is taken as one of the innermost call outside, or of what
 * that calls.
 */
#include "analyse/pair-work.h"

#include <stdlib.h>

struct dt_part_thread *dt_part_thread_new(void)
{
	struct dt_part_thread *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->level = malloc(sizeof(*o->level));
	if (!o->level) {
		free(o);
		return NULL;
	}
	o->level[0] = (struct dt_part_level){.lowest = UINT64_MAX};
	o->levels = o->level_size = 1;
	return o;
}

void dt_part_thread_free(struct dt_part_thread *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->pages; i++)
		free(o->page[i]);
	free(o->page);
	free(o->time);
	free(o->level);
	free(o);
}

static struct dt_part_level *last_level(const struct dt_part_thread *o)
{
	return &o->level[o->levels - 1];
}

/* ---- times of functions that may be open outside ---- */

/* Makes the page of a function; -1: out of memory. */
static int add_page(struct dt_part_thread *o, size_t page)
{
	if (page >= o->pages) {
		size_t n = page + 8;
		void *p = realloc(o->page, n * sizeof(*o->page));

		if (!p)
			return -1;
		o->page = p;
		while (o->pages < n)
			o->page[o->pages++] = NULL;
	}
	if (!o->page[page])
		o->page[page] = calloc(DT_PART_PAGE, sizeof(**o->page));
	return o->page[page] ? 0 : -1;
}

void dt_part_count_first(struct dt_pair *p, struct dt_part_thread *o, uint32_t function,
			 uint32_t depth, uint64_t ticks)
{
	size_t page = function / DT_PART_PAGE;

	if (!ticks)
		return;
	if (o->times == o->time_size) {
		size_t size = o->time_size ? 2 * o->time_size : 64;
		struct dt_part_time *t = realloc(o->time, size * sizeof(*t));

		p->no_memory |= !t;
		if (!t)
			return;
		o->time = t;
		o->time_size = size;
	}
	if ((page >= o->pages || !o->page[page]) && add_page(o, page)) {
		p->no_memory = true;
		return;
	}
	o->time[o->times++].function = function;
	o->page[page][function % DT_PART_PAGE] = (struct dt_part_count){ticks, depth};
}

/* Gives the times of the current level to it. */
static void close_times(struct dt_part_thread *o)
{
	for (; o->counted < o->times; o->counted++) {
		struct dt_part_time *t = &o->time[o->counted];
		size_t page = t->function / DT_PART_PAGE, at = t->function % DT_PART_PAGE;

		t->ticks = o->page[page][at].ticks;
		t->deepest = o->page[page][at].deepest;
		o->page[page][at].ticks = 0;
	}
	last_level(o)->times = o->times;
}

void dt_part_close(struct dt_part_thread *o, const struct dt_thread_stack *t)
{
	const struct dt_segment *s = t->current;
	struct dt_part_level *v = last_level(o);

	close_times(o);
	if (!s || !s->n || !dt_part_is_outside(&s->frame[0]))
		return;
	v->children += s->frame[0].call.children;
	v->inner = s->frame[0].inner;
	v->jumped = true;
}

/* ---- records that the innermost call outside has to do with ---- */

/* Returns whether a stack pointer is on the same side, of the program and the kernel, as the frames
 * of the part; otherwise the part is spoiled. */
static bool is_same_side(struct dt_pair *p, const struct dt_segment *s, uint64_t sp)
{
	bool same = !s || !s->n || dt_pair_in_kernel(s->frame[0].call.sp) == dt_pair_in_kernel(sp);

	p->spoiled |= !same;
	return same;
}

/* Returns whether all frames of the part are gone when a record is at sp. */
static bool is_above_all(const struct dt_segment *s, uint64_t sp)
{
	return !s || !s->n || sp > s->frame[0].call.sp;
}

/* Closes the frames of the part, which are all below sp. */
static void unwind_all(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp)
{
	struct dt_part_level *v = last_level(t->outside);

	if (!t->current || !t->current->n)
		return;
	v->needed = true;
	dt_pair_unwind(p, t, t->current, sp);
}

/* Notes that the innermost call outside is above one stack pointer, and near another. */
static void note(struct dt_part_thread *o, uint64_t lowest, uint64_t highest)
{
	struct dt_part_level *v = last_level(o);

	v->lowest = lowest < v->lowest ? lowest : v->lowest;
	v->highest = highest > v->highest ? highest : v->highest;
}

/* Notes the entry that is the thread's first record. */
static void note_first(struct dt_part_level *v, uint64_t sp, uint32_t function)
{
	v->first = true;
	v->sp = sp;
	v->function = function;
}

bool dt_part_entry(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint32_t function)
{
	if (!is_same_side(p, t->current, sp) || !is_above_all(t->current, sp))
		return false;
	unwind_all(p, t, sp);
	if (t->outside->first_open)
		note_first(last_level(t->outside), sp, function);
	else
		note(t->outside, sp, sp);
	if (!t->current || t->tail_sp)
		return false;
	dt_pair_push(p, t, t->current, sp, function, 0);
	return true;
}

void dt_part_point(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp)
{
	if (!sp || !is_same_side(p, t->current, sp) || !is_above_all(t->current, sp))
		return;
	unwind_all(p, t, sp);
	note(t->outside, sp, sp - 1);
}

/* Puts a frame on the stack for the innermost call outside, whose exit is met. */
static void meet(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint32_t function)
{
	struct dt_part_level *v = last_level(t->outside);

	if (!t->current && !(t->current = dt_segment_new(t))) {
		p->no_memory = true;
		return;
	}
	v->met = true;
	v->function = function;
	v->sp = sp;
	dt_pair_push(p, t, t->current, sp, function, 0);
	if (t->current->n)
		t->current->frame[0].call.entry = 0;
}

void dt_part_exit(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
		  const struct fact *fact)
{
	struct dt_segment *s = t->current;

	if (fact->arrives || !is_same_side(p, s, sp)) {
		p->spoiled = true;
	} else if (is_above_all(s, sp)) {
		unwind_all(p, t, sp);
		if (last_level(t->outside)->met)
			p->spoiled = true;
		else
			meet(p, t, sp, fact->function);
	} else if (s->n == 1 && s->frame[0].call.sp != sp) {
		/* whether it moved its return address depends on what is around the only frame */
		p->spoiled = true;
	}
}

void dt_part_chain(struct dt_part_thread *o, const struct dt_segment *s, uint32_t length)
{
	struct dt_part_level *v = last_level(o);

	if (length == s->n && (dt_part_is_outside(&s->frame[0]) || o->first_open) &&
	    length > v->chain)
		v->chain = length;
}

/* Notes how the innermost call outside has ended, and begins another level. */
static void end_level(struct dt_pair *p, const struct dt_thread_stack *t, uint32_t flags,
		      uint32_t exit)
{
	struct dt_part_thread *o = t->outside;
	struct dt_part_level *v = last_level(o);

	close_times(o);
	v->ended = true;
	v->flags = flags;
	v->exit = exit;
	v->losses = t->losses;
	v->pauses = t->pauses;
	v->now = p->now;
	v->held = t->held;
	if (o->levels == o->level_size) {
		size_t size = 2 * o->level_size;
		struct dt_part_level *l = realloc(o->level, size * sizeof(*l));

		if (!l) {
			p->no_memory = true;
			return;
		}
		o->level = l;
		o->level_size = size;
	}
	o->level[o->levels++] = (struct dt_part_level){.lowest = UINT64_MAX, .times = o->times};
}

void dt_part_end(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint32_t flags,
		 uint32_t exit)
{
	struct dt_part_level *v = last_level(t->outside);
	struct dt_stack_frame *f = &s->frame[s->n - 1];

	v->children += f->call.children;
	v->inner = f->inner;
	v->jumped = f->jump != DT_JUMP_NONE;
	--*f->open;
	s->n--;
	end_level(p, t, flags, exit);
}

void dt_part_first_ends(struct dt_pair *p, struct dt_thread_stack *t, uint32_t flags, uint32_t exit)
{
	t->outside->first_open = false;
	end_level(p, t, flags, exit);
}
