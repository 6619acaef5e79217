/* SPDX-License-Identifier: MIT */
/*
 * Waiting: the times in which a thread was on no processor, as the records of switches tell. A
 * thread leaves a core with the next switch there, and is back with a switch to it anywhere. The
 * time between the two is added to the calls that the thread was in. What the tracer made it wait
 * is left out, as it is left out of all times. So are times in which switches were lost: calls say
 * how long these were.
 */
#include "analyse/pair-work.h"

/* Returns what was seen of waits. */
static const struct dt_waited *waited_rows(struct dt_pair *p)
{
	if (!p->waited.loaded && dt_waited_load(&p->waited, p->reader, NULL) < 0)
		dt_waited_free(&p->waited), p->waited.loaded = true;
	return &p->waited;
}

const char *dt_pair_waited_for(struct dt_pair *p, uint32_t number)
{
	const struct dt_waited *w = number ? waited_rows(p) : NULL;

	return w && number <= w->n ? w->row[number - 1].text : "";
}

const struct dt_waker *dt_pair_waker(struct dt_pair *p, uint32_t number)
{
	return dt_wakers_row(&p->wakers, p->reader, number);
}

/* Returns by how many ticks a switch may be misplaced among records. */
static uint64_t late_of(struct dt_pair *p)
{
	if (!p->late)
		p->late = (uint64_t)(DT_WAITS_LATE_NS / dt_reader_ns_per_tick(p->reader)) + 1;
	return p->late;
}

void dt_waits_woken(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s,
		    uint32_t i)
{
	t->woken = DT_WAKER_OF(s->sp[i]);
	t->woken_at = s->ticks[i];
}

/* Tells what is known of a wait's end. Who wakes a thread may be a little earlier than the thread:
 * it has not left its core yet then. */
static struct dt_wait_ended ended_by(struct dt_pair *p, struct dt_thread_stack *t, uint64_t begin,
				     uint64_t end)
{
	struct dt_wait_ended e = {.stack = t->left_in, .left = begin};
	uint64_t at = t->woken_at > begin ? t->woken_at : begin;

	if (t->woken && !t->preempted && t->woken_at + late_of(p) >= begin && at <= end) {
		e.waker = dt_pair_waker(p, t->woken);
		e.number = e.waker ? t->woken : 0;
		e.queued = end - at;
	}
	return e;
}

/* Notes the longest wait in a call of which something is known. */
static void note_longest(const struct dt_thread_stack *t, struct dt_call *c, uint64_t waited,
			 uint32_t what, const struct dt_wait_ended *ended)
{
	if (!what && !ended->waker)
		return;
	for (int self = 0; self < 2; self++)
		if (waited >= c->longest[self]) {
			c->longest[self] = waited;
			c->waited_for[self] = what;
			c->woken[self] = ended->waker ? t->woken : 0;
			c->queued[self] = ended->queued;
		}
}

/* Ends the wait of a thread that was on no processor between two times. */
static void come_back(struct dt_pair *p, struct dt_thread_stack *t, uint64_t begin, uint64_t end)
{
	struct dt_segment *s = t->current;
	struct dt_call *c = s && s->n ? &s->frame[s->n - 1].call : NULL;
	struct dt_wait_ended ended = ended_by(p, t, begin, end);
	uint64_t waited, unseen;
	uint32_t what;

	t->left = 0;
	if (end <= begin)
		return;
	waited = end - begin - dt_pair_held_between(t, begin, end);
	/* where switches are missing, it may have run and waited again */
	unseen = dt_lost_switches_between(&p->lost_switches, begin, end);
	if (waited <= unseen)
		return;
	waited -= unseen;
	/* what the tracer itself made it wait for was no wait of the program's */
	what = !t->preempted && 2 * waited > end - begin
		       ? dt_waited_between(waited_rows(p), t->tid, begin, end)
		       : 0;
	if (c) {
		note_longest(t, c, waited, what, &ended);
		c->flags |= DT_CALL_WAITED;
		c->waited += waited;
		c->waited_self += waited;
		c->preempted += t->preempted ? waited : 0;
	}
	if (p->events.wait)
		p->events.wait(p->events.ctx, t->tid,
			       c ? &dt_pair_whole(dt_pair_top(s))->call : NULL, end - waited, end,
			       t->preempted, dt_pair_waited_for(p, what), &ended);
}

/* Notes that a thread leaves a core. If it has been seen on another one meanwhile, the switch has
 * come late. */
static void leave(struct dt_pair *p, uint32_t tid, uint32_t core, uint64_t ticks, bool preempted,
		  uint32_t stack)
{
	struct dt_thread_stack *t = dt_pair_thread(p, tid);

	if (!t) {
		p->no_memory = true;
		return;
	}
	if (t->runs_on && t->runs_on != core + 1)
		return;
	t->runs_on = 0;
	t->left = ticks;
	t->left_in = stack;
	t->preempted = preempted;
}

void dt_waits_switch(struct dt_pair *p, struct dt_thread_stack *t, uint32_t i)
{
	const struct dt_span *s = p->span;
	uint64_t now = s->ticks[i], before = i ? s->ticks[i - 1] : t->last_ticks;

	if (s->core >= DT_FURTHER_CORES)
		return;
	if (p->on[s->core] && p->on[s->core] != s->tid)
		leave(p, p->on[s->core], s->core, now, s->flags[i] & DT_PREEMPTED,
		      DT_WAKER_OF(s->sp[i]));
	p->on[s->core] = s->tid == DT_NO_TID ? 0 : s->tid;
	if (s->core >= p->cores_on)
		p->cores_on = s->core + 1u;
	if (s->tid == DT_NO_TID)
		return;
	t->runs_on = s->core + 1u;
	/* a record of its own after it left: that came a little late, or early */
	if (t->left)
		come_back(p, t, before > t->left ? before : t->left, now);
}

void dt_waits_seen(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s)
{
	uint32_t before = p->on[s->core];

	/* the one that ran there before has left meanwhile, and that switch is lost */
	if (dt_lost_switches_any(&p->lost_switches) && before && before != s->tid)
		leave(p, before, s->core, s->ticks[0], false, 0);
	p->on[s->core] = s->tid;
	t->runs_on = s->core + 1u;
	if (s->core >= p->cores_on)
		p->cores_on = s->core + 1u;
}

void dt_waits_recorded(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s)
{
	uint8_t kind = p->fact[s->site[0]].kind;

	if (!dt_kind_is_about(kind) &&
	    (s->ticks[0] > t->left + late_of(p) ||
	     dt_lost_switches_between(&p->lost_switches, t->left, s->ticks[0])))
		come_back(p, t, t->left, s->ticks[0]);
}

void dt_pair_each_waiting(struct dt_pair *p,
			  void (*fn)(void *ctx, uint32_t tid, uint64_t left, bool preempted),
			  void *ctx)
{
	for (size_t i = 0; i < p->size; i++)
		if (p->thread[i] && p->thread[i]->left)
			fn(ctx, p->thread[i]->tid, p->thread[i]->left, p->thread[i]->preempted);
}

void dt_pair_seat(struct dt_pair *p, uint16_t core, uint32_t tid)
{
	if (core >= DT_FURTHER_CORES)
		return;
	p->on[core] = tid;
	if (core >= p->cores_on)
		p->cores_on = core + 1u;
}

/* Returns whether the trace has switches: without them no wait is known anyway. */
static bool has_switches(struct dt_pair *p)
{
	while (!p->has_switches && p->sites_seen < dt_reader_sites(p->reader))
		p->has_switches = dt_reader_site(p->reader, ++p->sites_seen)->kind == DT_SWITCH;
	return p->has_switches;
}

void dt_waits_unseen(struct dt_pair *p, struct dt_call *c)
{
	uint64_t took = dt_call_ticks(c);

	if (!has_switches(p))
		return;
	c->unseen = dt_lost_switches_between(&p->lost_switches, c->begin, c->end);
	c->unseen = c->unseen < took ? c->unseen : took;
	c->flags |= c->unseen ? DT_CALL_UNSEEN : 0;
}

void dt_waits_limit(struct dt_call *c)
{
	uint64_t took = dt_call_ticks(c), self = took > c->children ? took - c->children : 0;

	c->waited = c->waited < took ? c->waited : took;
	c->waited_self = c->waited_self < self ? c->waited_self : self;
	c->waited_self = c->waited_self < c->waited ? c->waited_self : c->waited;
	c->preempted = c->preempted < c->waited ? c->preempted : c->waited;
}
