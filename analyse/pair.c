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
#include "analyse/pair-work.h"

#include <stdlib.h>

/* ---- threads ---- */

static int take_loss(void *ctx, const struct dt_lost *lost)
{
	struct dt_pair *p = ctx;

	if (lost->switches && dt_lost_switches_add(&p->lost_switches, lost->begin, lost->end))
		return -1;
	return lost->others ? dt_losses_add(p, lost->core, lost->begin, lost->end) : 0;
}

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
	if (!p->nobody[core] && (p->nobody[core] = calloc(1, sizeof(**p->nobody)))) {
		p->nobody[core]->tid = DT_NO_TID;
		dt_pair_has_core(p, core);
	}
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
	if (dt_lost_switches_end(&p->lost_switches, r) || dt_reader_losses(r, take_loss, p)) {
		dt_pair_free(p);
		return NULL;
	}
	return p;
}

void dt_pair_unfold(struct dt_pair *p)
{
	p->unfolded = true;
}

uint64_t dt_pair_folded(const struct dt_pair *p)
{
	return p->folded;
}

bool dt_pair_may_fold(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++)
		if (dt_reader_site(r, i)->crossing)
			return true;
	return false;
}

/* ---- records ---- */

/* Returns whether the exit at sp, by which the thread's innermost call ends, is that of the first
 * call on a stack. */
static bool reaches_bottom(const struct dt_thread_stack *t, uint64_t sp)
{
	const struct dt_segment *s = t->current;

	return !dt_pair_in_kernel(sp) && t->segments > 1 && !s->below &&
	       s->frame[0].call.sp == sp && (s->frame[0].call.flags & DT_CALL_OTHER_STACK);
}

static void leave(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint32_t function,
		  const struct fact *fact)
{
	struct dt_segment *s = t->current;
	bool waits, bottom,
		mine = s && s->n && s->frame[s->n - 1].call.sp == sp &&
		       s->frame[s->n - 1].call.function == function;

	/* it makes no jump, was not reached by one, and is not the segment's last frame */
	if (__builtin_expect(mine && !fact->tail && !t->tail_sp &&
				     (s->n > 1 ? !s->frame[s->n - 2].jump : t->outside != NULL),
			     1)) {
		dt_pair_pop(p, t, s, 0, p->span->site[p->at]);
		return;
	}
	if (__builtin_expect(t->outside != NULL, 0)) {
		dt_part_exit(p, t, sp, fact);
		s = t->current;
		mine = s && s->n && s->frame[s->n - 1].call.sp == sp &&
		       s->frame[s->n - 1].call.function == function;
	}
	if (__builtin_expect(fact->arrives && !mine, 0)) {
		dt_pair_arrive(p, t, sp, fact);
		return;
	}
	if (dt_pair_has_arrived(t) || dt_pair_is_at_bottom(t))
		t->tail_sp = 0;
	bottom = mine && !fact->tail && reaches_bottom(t, sp);
	if (mine)
		dt_pair_leave_call(p, t, s, fact);
	else
		dt_pair_exit_elsewhere(p, t, sp, fact);
	if (bottom) {
		t->tail_sp = sp;
		t->tail_lands = DT_LANDS_BOTTOM;
	} else if (__builtin_expect(fact->tail, 0)) {
		s = t->current;
		waits = s && s->n && dt_pair_top(s)->jump == DT_JUMP_MADE &&
			dt_pair_top(s)->call.sp == sp;
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

	if (sp && !dt_pair_in_kernel(sp))
		dt_pair_cross(p, t, sp);
	s = t->current;
	other = dt_stack_nearest(t, s, sp, false);
	above = s ? dt_segment_above(s, sp) : -1;
	distance = above >= 0 ? s->frame[above].call.sp - sp : UINT64_MAX;
	o_distance = other ? other->frame[dt_segment_above(other, sp)].call.sp - sp : UINT64_MAX;

	if (o_distance < distance && o_distance <= DT_STACK_NEAR) {
		dt_stack_switch(t, other);
		other->doubtful = false;
		dt_pair_unwind(p, t, other, sp);
	} else if (distance <= DT_STACK_NEAR) {
		dt_pair_unwind(p, t, s, sp);
	}
}

/* Returns whether a record is one of the values of a call that nothing is passed on of: it is the
 * innermost one, and the record's site has the place of its function. */
static bool is_value_of_folded(const struct dt_pair *p, const struct dt_segment *s, uint32_t i)
{
	const struct dt_stack_frame *f = s && s->n ? &s->frame[s->n - 1] : NULL;
	const struct dt_site *site = dt_reader_site(p->reader, p->span->site[i]), *entry;
	const struct dt_function_info *a, *b;

	if (!f || !dt_pair_is_folded(f) || site->place == DT_SITE_POINT)
		return false;
	entry = dt_reader_site(p->reader, f->call.entry);
	a = dt_reader_function(p->reader, site->function);
	b = entry ? dt_reader_function(p->reader, entry->function) : NULL;
	return a && b && a->address == b->address && a->module == b->module;
}

static void other(struct dt_pair *p, struct dt_thread_stack *t, uint8_t kind, uint64_t sp,
		  uint32_t i)
{
	struct dt_segment *s;

	/* these are recorded by the thread itself; a switch or a rundown is about it */
	if (kind == DT_POINT || kind == DT_EVENT || kind == DT_SEND || kind == DT_RECEIVE) {
		if (t->outside)
			dt_part_point(p, t, sp);
		point(p, t, sp);
	} else if (kind == DT_SWITCH)
		dt_waits_switch(p, t, i);
	else if (kind == DT_WAKE)
		dt_waits_woken(p, t, p->span, i);
	s = t->current;
	if (__builtin_expect((kind == DT_POINT || kind == DT_MORE) && s && s->folded, 0) &&
	    is_value_of_folded(p, s, i))
		return;
	p->said = s;
	p->enclosing = s ? s->n : 0;
	if (p->events.other)
		p->events.other(p->events.ctx, p->span, i, s ? dt_pair_depth(s) : 0);
}

void dt_pair_look(struct dt_pair *p, uint32_t tid)
{
	struct dt_thread_stack *t = dt_pair_thread(p, tid);

	p->said = t ? t->current : NULL;
	p->enclosing = p->said ? p->said->n : 0;
}

/* Returns whether record i is of a call in the kernel. */
static bool is_kernels(const struct dt_pair *p, const struct dt_span *s, uint32_t i)
{
	uint8_t kind = p->fact[s->site[i]].kind;

	return dt_pair_in_kernel(s->sp[i]) && (kind == DT_ENTRY || kind == DT_EXIT);
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
	if (i && dt_losses_since(p, s->core, s->ticks[i - 1], s->ticks[i], is_kernels(p, s, i)))
		lose(t);
	p->next_loss = dt_losses_next(p, s->core, s->ticks[i]);
}

/* Leaves out the time since a function was done, at its exit: what it has filled in was captured.
 */
static void left(struct dt_pair *p, struct dt_thread_stack *t, uint64_t before, uint64_t held)
{
	t->leaving = false;
	if (!p->events.cost)
		dt_pair_capture(p, t, before, held);
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
				dt_pair_pause(p, t, s->ticks[i]);
			dt_pair_hold(t, s->ticks[i], s->sp[i] && !dt_pair_in_kernel(s->sp[i]));
			if (p->events.cost)
				p->now = dt_pair_without_cost(p, t, s->ticks[i], fact->kind,
							      t->held - held);
		}
		if (fact->kind == DT_ENTRY) {
			if (__builtin_expect(fact->alone, 0))
				dt_pair_entry_alone(p, t, s->sp[i], fact->function);
			else
				dt_pair_entry(p, t, s->sp[i], fact->function);
		} else if (fact->kind == DT_EXIT) {
			if (__builtin_expect(t->leaving, 0))
				left(p, t, i > from ? s->ticks[i - 1] : t->last_ticks, held);
			leave(p, t, s->sp[i], fact->function, fact);
		} else {
			if (fact->kind == DT_MORE && !p->events.cost &&
			    (!fact->leaving || t->leaving))
				dt_pair_capture(p, t, i > from ? s->ticks[i - 1] : t->last_ticks,
						held);
			t->leaving |= fact->leaving;
			other(p, t, fact->kind, s->sp[i], i);
		}
	}
	if (to > from)
		t->last_ticks = s->ticks[to - 1];
}

/* Takes the first record off a span. */
static void shorten(struct dt_span *s)
{
	s->n--;
	s->ticks++;
	s->sp++;
	s->site++;
	s->flags++;
	s->record_core++;
	s->value += s->value != NULL;
	s->lost = 0;
}

bool dt_pair_unwanted(struct dt_pair *p, struct dt_span *s)
{
	struct dt_thread_stack *t;
	uint64_t lost = s->lost;
	uint8_t kind;

	/* what others do to the thread, where they are */
	while (s->n && dt_reader_site(p->reader, s->site[0])->kind == DT_WAKE)
		shorten(s);
	s->lost = lost;
	kind = s->n ? dt_reader_site(p->reader, s->site[0])->kind : DT_RUNDOWN;

	if (kind == DT_SWITCH) {
		s->n = 1;
		return true;
	}
	/* without switches, a record tells as much */
	if (dt_lost_switches_any(&p->lost_switches) && kind != DT_RUNDOWN && s->tid != DT_NO_TID &&
	    s->core < DT_FURTHER_CORES) {
		t = dt_pair_thread(p, s->tid);
		if (t)
			dt_waits_seen(p, t, s);
		p->no_memory |= !t;
	}
	return false;
}

/*
 * Takes the records at a span's beginning that others have made about the thread, on a core that
 * need not be the thread's. Returns whether something is left.
 */
static bool take_wakes(struct dt_pair *p, struct dt_thread_stack *t, struct dt_span *rest)
{
	while (rest->n && p->fact[rest->site[0]].kind == DT_WAKE) {
		p->span = rest;
		p->at = 0;
		p->now = rest->ticks[0];
		other(p, t, DT_WAKE, rest->sp[0], 0);
		shorten(rest);
	}
	return rest->n;
}

int dt_pair_span(struct dt_pair *p, const struct dt_span *s)
{
	struct dt_span rest;
	struct dt_thread_stack *t;
	size_t execs;

	if (s->lost && take_loss(p, &(struct dt_lost){s->core, s->lost, s->lost_begin, s->lost_end,
						      s->lost_switches, s->lost_others}))
		return -1;
	if (!s->n) {
		if (s->lost && p->events.loss)
			p->events.loss(p->events.ctx, DT_NO_TID, s->lost, s->lost_begin,
				       s->lost_end);
		return 0;
	}
	t = s->tid == DT_NO_TID && dt_pair_in_kernel(s->sp[0]) ? dt_pair_nobody(p, s->core)
							       : dt_pair_thread(p, s->tid);
	if (!t || dt_facts_update(p))
		return -1;
	if (__builtin_expect(p->fact[s->site[0]].kind == DT_WAKE, 0)) {
		if (s->lost && p->events.loss)
			p->events.loss(p->events.ctx, s->tid, s->lost, s->lost_begin, s->lost_end);
		rest = *s;
		p->values = p->wanted && s->value;
		if (!take_wakes(p, t, &rest))
			return 0;
		s = &rest;
	}
	p->span = s;
	p->values = p->wanted && s->value;
	/* within a span, such a record shows at the end of some call */
	p->impossible +=
		s->ticks[0] < t->last_ticks && !dt_pair_in_kernel(s->sp[0]) &&
		(p->fact[s->site[0]].kind == DT_ENTRY || p->fact[s->site[0]].kind == DT_EXIT);
	if (s->lost && p->events.loss)
		p->events.loss(p->events.ctx, s->tid, s->lost, s->lost_begin, s->lost_end);
	if (p->any_loss && t->last_ticks &&
	    ((s->lost && s->lost_others) ||
	     dt_losses_since(p, s->core, t->last_ticks, s->ticks[0],
			     t->last_core != s->core || is_kernels(p, s, 0)) ||
	     (t->last_core != s->core &&
	      dt_losses_between(p, t->last_core, t->last_ticks, s->ticks[0]))))
		lose(t);
	p->next_loss = p->any_loss ? dt_losses_next(p, s->core, s->ticks[0]) : UINT64_MAX;
	dt_reader_execs(p->reader, &execs);
	if (__builtin_expect(t->execs != execs + 1, 0)) {
		t->execs = execs + 1;
		t->next_exec = dt_reader_exec(p->reader, t->tid, dt_pair_newest(t));
	}
	if (__builtin_expect(t->holds_known != dt_pair_known_times(p), 0))
		dt_pair_find_holds(p, t);
	dt_waits_span(p, t, s);
	for (uint32_t from = 0, to; from < s->n; from = to) {
		to = dt_pair_new_program(p, t, s, from);
		records(p, t, s, from, to);
		if (to < s->n)
			dt_pair_exec(p, t, s->ticks[to]);
	}
	t->last_core = s->core;
	return p->no_memory ? -1 : 0;
}

static void finish(struct dt_pair *p, struct dt_thread_stack *t)
{
	p->now = p->events.cost ? (uint64_t)(t->last_time + 0.5) : t->last_ticks;
	dt_pair_close_all(p, t, DT_CALL_OPEN);
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
	for (size_t i = 0; i < p->cores; i++)
		if (p->nobody[i])
			finish(p, p->nobody[i]);
	return 0;
}

void dt_pair_free(struct dt_pair *p)
{
	if (!p)
		return;
	dt_wakers_free(&p->wakers);
	for (size_t i = 0; i < p->size; i++) {
		if (!p->thread[i])
			continue;
		dt_stack_free(p->thread[i]);
		dt_part_thread_free(p->thread[i]->outside);
		free(p->thread[i]);
	}
	for (size_t i = 0; i < p->cores; i++) {
		if (p->nobody[i])
			dt_stack_free(p->nobody[i]);
		free(p->nobody[i]);
		if (!p->loss[i])
			continue;
		free(p->loss[i]->i);
		free(p->loss[i]);
	}
	free(p->thread);
	dt_lost_switches_free(&p->lost_switches);
	dt_waited_free(&p->waited);
	free(p->fact);
	free(p->off);
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
