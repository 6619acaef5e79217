/* SPDX-License-Identifier: MIT */
#include "target/ring.h"
#include "target/calls.h"
#include "target/held.h"
#include "target/request.h"
#include "target/rseq.h"

bool dt_pair_change(uint64_t *word, uint64_t *first, uint64_t *second, uint64_t new_first,
		    uint64_t new_second)
{
	uint64_t expected[2] = {*first, *second};
	const uint64_t wanted[2] = {new_first, new_second};
	bool done = dt_cas2(word, expected, wanted);

	*first = expected[0];
	*second = expected[1];
	return done;
}

/*
 * Counts a record as lost because the ring is full up to `hard'. Returns false when the ring is not
 * full any more: the record is to be tried again.
 */
static bool count_lost(struct dt_ring *r, uint64_t hard)
{
	uint64_t lost =
		__atomic_load_n(&r->lost, __ATOMIC_ACQUIRE); /* read after hard: never older */
	uint64_t dropped = __atomic_load_n(&r->dropped, __ATOMIC_RELAXED);

	do {
		uint64_t ahead = DT_LOST_AHEAD(lost, hard);

		if (ahead) {
			__atomic_compare_exchange_n(&r->hard, &hard, hard + ahead, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
			return false;
		}
		if (DT_LOST_COUNT(lost) == DT_LOST_MAX)
			return true;
	} while (!dt_pair_change(&r->lost, &lost, &dropped, lost + 1, dropped + 1));
	return true;
}

struct dt_ring *dt_shared_ring(void)
{
	return dt_ring_at(&session, blob.stride, (unsigned)blob.cores);
}

/* Looks whether this thread still has to wait for room at pos. */
static bool is_waiting(struct dt_ring *r, uint64_t pos)
{
	return pos >= __atomic_load_n(&r->hard, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&session.state, __ATOMIC_ACQUIRE) == DT_RECORDING &&
	       !__atomic_load_n(&kept_block.opted_out, __ATOMIC_ACQUIRE) &&
	       !dt_controller_is_gone();
}

#define ROOM_ROUNDS 50 /* of 20 ms: so long signals wait */

/*
 * Waits for room at pos in the ring, for a second at most. hold() blocks signals: a handler of the
 * program's would run in time that is said to be devtrace's; and it would wait, too, for the next
 * signal to interrupt it, until there is no stack left. After a second they come through, one that
 * is to end the program among them.
 */
static void wait_for_room(struct dt_ring *r, uint64_t pos)
{
	uint32_t wake;

	__atomic_add_fetch(&r->stalls, 1, __ATOMIC_RELAXED);
	if (dt_is_confined()) {
		dt_bell_ring();
		for (int i = 0; i < 1000; i++)
			dt_cpu_pause();
		return;
	}
	for (int i = 0; i < ROOM_ROUNDS && is_waiting(r, pos); i++) {
		wake = __atomic_load_n(&r->wake, __ATOMIC_ACQUIRE);
		__atomic_add_fetch(&r->waiters, 1, __ATOMIC_SEQ_CST);
		/* pairs with the controller, which writes hard and limit, adds 1 to wake, then
		 * reads waiters */
		if (pos >= __atomic_load_n(&r->hard, __ATOMIC_SEQ_CST)) {
			dt_bell_ring();
			dt_futex_wait(&r->wake, wake, 20 * DT_MS);
		}
		__atomic_sub_fetch(&r->waiters, 1, __ATOMIC_SEQ_CST);
	}
}

/*
 * Waits for room at pos, or only wakes the reader, and tells how long that took; no handler runs in
 * that time. Of the shared ring the record has the thread's id: the thread block may be another
 * thread's, or not there (append() of append.c).
 */
static void hold(struct dt_ring *r, uint64_t pos, const struct dt_record *rec, bool full)
{
	bool blocks = !dt_is_confined();
	struct dt_since since;
	uint64_t signals;

	if (blocks)
		dt_signals_block(&signals);
	since = dt_since_now();
	if (full)
		wait_for_room(r, pos);
	else
		dt_bell_ring();
	dt_held_tell(r == dt_shared_ring() ? rec->tid : dt_own_thread_id(), &since, DT_HELD_ROOM);
	if (blocks)
		dt_signals_restore(&signals);
}

bool dt_ring_make_room(struct dt_ring *r, uint64_t pos, const struct dt_record *rec)
{
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
	uint64_t hard = __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE);

	if (pos < limit && pos < hard) /* recording may be set to freeze after the hard limit */
		return true;
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != DT_RECORDING)
		return false;
	/*
	 * `careful' is set before the limits of the cores' rings are set to 0: leave these limits
	 * as they are. The shared ring's limit may be 0 in a careful session, too: dt_rings_alert()
	 * makes it so before the first record.
	 */
	if (!limit && r != dt_shared_ring() && __atomic_load_n(&session.careful, __ATOMIC_ACQUIRE))
		return true;
	if (pos < hard) {
		/* the place where recording freezes is not moved to make room */
		if (r == dt_shared_ring() && (limit & DT_FROZEN))
			return true;
		/* only the soft limit is reached: wake the reader, and go on up to the hard one */
		if (!__atomic_compare_exchange_n(&r->limit, &limit, hard, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_RELAXED))
			return true;
		/* a limit of 0 that dt_rings_alert() has set may be that of a careful session by
		 * now: dt_rings_careful() writes `careful' before the limits */
		if (!limit && r != dt_shared_ring() &&
		    __atomic_load_n(&session.careful, __ATOMIC_SEQ_CST)) {
			__atomic_compare_exchange_n(&r->limit, &hard, 0, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED);
			return true;
		}
		hold(r, pos, rec, false);
	} else if (session.policy != DT_WAIT || dt_controller_is_gone()) {
		if (!count_lost(r, hard))
			return true;
		if (rec->kind == DT_ENTRY || rec->kind == DT_POINT)
			__atomic_add_fetch(&r->lost_in, 1, __ATOMIC_RELAXED);
		else if (rec->kind == DT_EXIT)
			__atomic_add_fetch(&r->lost_out, 1, __ATOMIC_RELAXED);
		return false;
	} else {
		hold(r, pos, rec, true);
	}
	return true;
}

void dt_record_copy(struct dt_record *to, const struct dt_record *from)
{
	const uint64_t *f = (const uint64_t *)from;
	uint64_t *t = (uint64_t *)to;

	for (int i = 0; i < 8; i++)
		((volatile uint64_t *)t)[i] = f[i];
}

void dt_shared_ring_fill(struct dt_ring *r, uint64_t pos, const struct dt_record *rec)
{
	uint64_t index = pos / 64, mark;
	uint64_t *m = dt_ring_marks(r, blob.mask + 1) + (index & blob.mask / 64);

	mark = __atomic_load_n(m, __ATOMIC_ACQUIRE);
	/* the slot's writer of a lap ago has not finished, or one of a later lap has taken it: the
	 * place stays empty */
	if ((mark & 1) || DT_MARK_AHEAD(mark, index))
		return;
	if (!__atomic_compare_exchange_n(m, &mark, DT_MARK_BUSY(index, rec->tid), false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	/* the reader's second look at the mark pairs with this: the swap does not hold back the
	 * stores behind it on all processors (test/litmus/shared-ring.litmus) */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	dt_record_copy((struct dt_record *)((char *)r + DT_RING_HEAD + (pos & blob.mask)), rec);
	__atomic_store_n(m, DT_MARK_DONE(index), __ATOMIC_RELEASE);
}

bool dt_limit_is_frozen_at(uint64_t limit, uint64_t pos)
{
	return (limit & DT_FROZEN) && pos >= (limit & ~DT_FROZEN);
}

bool dt_shared_ring_append(struct dt_record *rec)
{
	struct dt_ring *r = dt_shared_ring();
	bool waits = session.policy == DT_WAIT && !dt_is_confined();
	uint64_t pos, limit, signals;
	uint32_t core = 0;
	bool full, frozen;

	if (waits)
		dt_signals_block(&signals);
	pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
	do {
		limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
		frozen = dt_limit_is_frozen_at(limit, pos);
		full = pos >= limit ||
		       ((limit & DT_FROZEN) && pos >= __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE));
		if (frozen || full)
			break;
		rec->ticks = dt_clock_and_core(&core);
	} while (!__atomic_compare_exchange_n(&r->pos, &pos, pos + 64, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_ACQUIRE));
	if (frozen) { /* nothing is recorded, nothing is lost */
		__atomic_add_fetch(&session.missed, 1, __ATOMIC_RELAXED);
	} else if (!full) {
		uint64_t since = __atomic_load_n(&session.frozen, __ATOMIC_RELAXED);

		if (dt_limit_is_frozen_at(__atomic_load_n(&r->limit, __ATOMIC_ACQUIRE), pos) &&
		    since && rec->ticks > since)
			rec->ticks = since;
		rec->core = (uint16_t)core;
		dt_shared_ring_fill(r, pos, rec);
	}
	if (waits)
		dt_signals_restore(&signals);
	return full && !frozen && dt_ring_make_room(r, pos, rec);
}
