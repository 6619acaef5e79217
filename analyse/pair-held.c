/* SPDX-License-Identifier: MIT */
/* Times in which a thread did not run because of the tracer, or nothing was recorded. */
#include "analyse/pair-work.h"

#include "core/search.h"

/* ---- pauses ---- */

/* Returns a number that changes when a file that grows has got more holds or pauses. */
size_t dt_pair_known_times(const struct dt_pair *p)
{
	size_t pauses, offs, version;

	dt_reader_pause_times(p->reader, &pauses);
	dt_reader_offs(p->reader, &offs, &version);
	return dt_reader_holds(p->reader) + pauses + version + 1;
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
void dt_pair_pause(const struct dt_pair *p, struct dt_thread_stack *t, uint64_t now)
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
void dt_pair_find_holds(struct dt_pair *p, struct dt_thread_stack *t)
{
	t->holds_known = dt_pair_known_times(p);
	dt_pair_find_offs(p);
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
void dt_pair_hold(struct dt_thread_stack *t, uint64_t now, bool own)
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

uint64_t dt_pair_held_between(const struct dt_thread_stack *t, uint64_t begin, uint64_t end)
{
	size_t i = dt_count_before(t->holds_n, k, t->holds[k].end <= begin);
	uint64_t sum = 0;

	for (; i < t->holds_n && t->holds[i].begin < end; i++) {
		uint64_t from = t->holds[i].begin > begin ? t->holds[i].begin : begin;

		sum += (t->holds[i].end < end ? t->holds[i].end : end) - from;
	}
	return sum;
}

/*
 * Returns the time of a record on a clock that stands still while a record is made. Between two
 * records lie the rest of making the first one and the beginning of making the second one: together
 * one cost. The clock also stood still while the thread was held.
 */
uint64_t dt_pair_without_cost(struct dt_pair *p, struct dt_thread_stack *t, uint64_t ticks,
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
