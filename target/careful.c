/* SPDX-License-Identifier: MIT */
#include "target/careful.h"
#include "core/device.h"
#include "target/calls.h"
#include "target/request.h"
#include "target/ring.h"

bool dt_is_watched_id(uint32_t id)
{
	uint32_t low = 0, high = session.watches;

	if (high > DT_WATCH_MAX)
		high = DT_WATCH_MAX;
	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (session.watch[mid] == id)
			return true;
		if (session.watch[mid] < id)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/* Copies what the table says about pc. False: nothing; then the record is kept, or, in uniform
 * mode, not kept. */
static bool look_up(uint64_t pc, struct dt_table_entry *found)
{
	struct dt_table *t = (struct dt_table *)blob.table;
	uint32_t seq;
	bool is;

	do {
		size_t low = 0, high;

		while ((seq = __atomic_load_n(&t->seq, __ATOMIC_ACQUIRE)) & 1)
			dt_cpu_pause();
		high = t->n;
		if (high > DT_TABLE_MAX)
			high = 0;
		while (low < high) {
			size_t mid = (low + high) / 2;

			if (t->entry[mid].start <= pc)
				low = mid + 1;
			else
				high = mid;
		}
		is = low && t->entry[low - 1].end >= pc;
		if (is)
			*found = t->entry[low - 1];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&t->seq, __ATOMIC_RELAXED) != seq);
	return is;
}

static bool is_watched(const struct dt_record *rec)
{
	return !session.watches || session.all || dt_is_watched_id(process_block.pid) ||
	       dt_is_watched_id(rec->tid);
}

static bool is_event(const struct dt_record *rec)
{
	return rec->kind == DT_EVENT || rec->kind == DT_SEND || rec->kind == DT_RECEIVE;
}

/* Looks whether the record is the start or stop event, and adds UNFREEZE or FREEZE to what is to be
 * done. */
static void trigger(const struct dt_record *rec, uint32_t *what)
{
	uint32_t core;
	uint32_t state = __atomic_load_n(&session.arm_state, __ATOMIC_ACQUIRE);

	if (state == DT_ARM_ARMED && is_event(rec) && (session.arm_has & 1) &&
	    rec->value[0] == session.arm_start &&
	    __atomic_compare_exchange_n(&session.arm_state, &state, DT_ARM_STARTING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		__atomic_store_n(&session.arm_begin, dt_clock_and_core(&core), __ATOMIC_RELEASE);
		*what |= DT_DO_UNFREEZE;
		return;
	}
	/* the start event is tried again, since there was no room */
	if (state == DT_ARM_STARTING && is_event(rec) && rec->value[0] == session.arm_start)
		*what |= DT_DO_UNFREEZE;
	if ((state == DT_ARM_STARTING || state == DT_ARM_RUNNING) && is_event(rec) &&
	    (session.arm_has & 2) && rec->value[0] == session.arm_stop)
		*what |= DT_DO_FREEZE;
}

/*
 * Appends rec, and after it the constant that goes with it, to the shared ring, and freezes or
 * thaws the recording. The place where recording freezes is changed in the same moment as the
 * record's place is taken, so the freezing record is the last one, whatever other threads append.
 * Returns true when it is to be tried again.
 */
static bool append_careful(struct dt_record *rec, const struct dt_table_entry *t, uint32_t what)
{
	struct dt_ring *r = dt_shared_ring();
	uint64_t bytes = what & DT_DO_CONST ? 128 : 64, pos, limit, end, now, half;
	uint32_t core;
	bool thaws;

	pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
	limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
	do {
		uint64_t at = limit & ~DT_FROZEN, hard;

		end = limit;
		thaws = pos >= at && (limit & DT_FROZEN);
		if (thaws) {
			if (!(what & DT_DO_UNFREEZE)) {
				/* nothing is recorded, nothing is lost */
				__atomic_add_fetch(&session.missed, 1, __ATOMIC_RELAXED);
				return false;
			}
			end = DT_NO_LIMIT;
			at = DT_NO_LIMIT;
		}
		hard = __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE);
		if (pos >= at || pos + bytes > hard)
			return dt_ring_make_room(r, pos >= at ? pos : hard, rec);
		now = dt_clock_and_core(&core);
		if ((end & DT_FROZEN) && bytes > 64)
			end += bytes - 64; /* a constant is no record of its own */
		if (what & DT_DO_FREEZE)
			end = (pos + bytes) | DT_FROZEN;
		else if ((what & DT_DO_LATEFREEZE) && !(end & DT_FROZEN))
			end = (pos + bytes + 64 * t->late) | DT_FROZEN;
	} while (!dt_pair_change(&r->pos, &pos, &limit, pos + bytes, end));
	rec->ticks = now;
	rec->core = (uint16_t)core;
	if (thaws)
		dt_ring_note_thaw(&session, pos, now);
	dt_shared_ring_fill(r, pos, rec);
	if (what & DT_DO_CONST) {
		struct dt_record more = {.ticks = now,
					 .pc = rec->pc,
					 .tid = rec->tid,
					 .kind = DT_MORE,
					 .flags = 1,
					 .core = rec->core,
					 .sp = rec->sp,
					 .value = {t->constant}};

		dt_shared_ring_fill(r, pos + 64, &more);
	}
	half = r->read + (blob.mask + 1) / 2;
	if (((end & DT_FROZEN) && pos + bytes >= (end & ~DT_FROZEN)) ||
	    (pos < half && pos + bytes >= half))
		dt_bell_ring();
	return false;
}

void dt_filtered_count(const struct dt_record *rec)
{
	if (rec->kind == DT_ENTRY || rec->kind == DT_POINT)
		__atomic_add_fetch(&session.filtered_in, 1, __ATOMIC_RELAXED);
	else if (rec->kind == DT_EXIT)
		__atomic_add_fetch(&session.filtered_out, 1, __ATOMIC_RELAXED);
}

static bool is_frozen(void)
{
	struct dt_ring *r = dt_shared_ring();
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

	return dt_limit_is_frozen_at(limit, __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE));
}

/* Called when the start event has been recorded and thawed the recording: the controller may read
 * its time from here on. */
static void started(uint32_t what)
{
	uint32_t starting = DT_ARM_STARTING;

	if ((what & DT_DO_UNFREEZE) &&
	    __atomic_compare_exchange_n(&session.arm_state, &starting, DT_ARM_RUNNING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		dt_bell_ring();
}

/*
 * Uniform mode: what is not traced must cost as much as what is. This does all that append_careful
 * does, but leaves the ring's place and limit as they are, and writes the record to no ring.
 */
static void append_nowhere(struct dt_record *rec)
{
	struct dt_ring *r = dt_shared_ring();
	uint64_t pos, limit, mark = 0;
	uint32_t core;

	if (is_frozen())
		return;
	pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
	limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
	do {
		rec->ticks = dt_clock_and_core(&core);
	} while (!dt_pair_change(&r->pos, &pos, &limit, pos, limit));
	rec->core = (uint16_t)core;
	/* in place of taking a slot's mark */
	__atomic_compare_exchange_n(&process_block.nowhere[0], &mark, mark, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	dt_record_copy((struct dt_record *)process_block.nowhere, rec);
}

/* Does the same around append_nowhere() as dt_careful_append() does around append_careful(). */
static bool pretend(struct dt_record *rec)
{
	uint64_t signals;

	if (session.policy != DT_WAIT || dt_is_confined()) {
		append_nowhere(rec);
		return false;
	}
	dt_signals_block(&signals);
	append_nowhere(rec);
	dt_signals_restore(&signals);
	return false;
}

bool dt_careful_append(struct dt_record *rec)
{
	struct dt_table_entry t = {.what = DT_DO_ENTRY | DT_DO_EXIT};
	uint64_t signals;
	uint32_t what;
	bool again;

	if (!look_up(rec->pc, &t) && session.uniform && !is_event(rec))
		return pretend(rec);
	what = t.what;
	if ((rec->kind == DT_ENTRY && !(what & DT_DO_ENTRY)) ||
	    (rec->kind == DT_EXIT && !(what & DT_DO_EXIT)))
		return false;
	if (rec->kind == DT_EXIT) /* options are for entries, and a point counts as one */
		what &= what & DT_DO_ENTRY ? (DT_DO_COUNT | DT_DO_ONLYPID) : ~0u;
	if (!is_watched(rec) || ((what & DT_DO_ONLYPID) && t.pid != process_block.pid) ||
	    (what & DT_DO_COUNT)) {
		if (!is_frozen())
			dt_filtered_count(rec);
		return false;
	}
	if (__atomic_load_n(&session.arm_state, __ATOMIC_RELAXED) != DT_ARM_NONE)
		trigger(rec, &what);
	rec->flags |= (what & DT_DO_FREEZE ? DT_FREEZE : 0) |
		      (what & DT_DO_UNFREEZE ? DT_UNFREEZE : 0) |
		      (what & DT_DO_LATEFREEZE ? DT_LATEFREEZE : 0) |
		      (what & DT_DO_BASE ? DT_BASE : 0) | (what & DT_DO_ADJACENT ? DT_ADJACENT : 0);
	if (session.policy != DT_WAIT || dt_is_confined()) {
		again = append_careful(rec, &t, what);
		started(what);
		return again;
	}
	/* a signal handler must not wait for the place of the thread that it has interrupted */
	dt_signals_block(&signals);
	again = append_careful(rec, &t, what);
	dt_signals_restore(&signals);
	started(what);
	return again;
}
