/* SPDX-License-Identifier: MIT */
#include "target/request.h"
#include "target/calls.h"
#include "target/held.h"

#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_TID_MASK	 0x3fffffffu
#define INT_MAX		 0x7fffffff

void dt_bell_ring(void)
{
	__atomic_add_fetch(&session.bell, 1, __ATOMIC_SEQ_CST);
	if (!dt_is_confined()) /* without the call: the reader looks from time to time anyway */
		dt_futex_wake(&session.bell, INT_MAX);
}

bool dt_controller_is_gone(void)
{
	uint32_t owner = __atomic_load_n(&session.owner, __ATOMIC_ACQUIRE);

	return (owner & FUTEX_OWNER_DIED) || !(owner & FUTEX_TID_MASK);
}

bool dt_controller_follows(void)
{
	return __atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != DT_STOPPED;
}

/* Returns a free slot for a message, now being filled; NULL: all are taken. */
static struct dt_request *claim_request(void)
{
	for (unsigned i = 0; i < DT_REQUESTS; i++) {
		struct dt_request *q = &session.request[i];
		uint32_t expect = DT_REQUEST_FREE;

		if (__atomic_compare_exchange_n(&q->state, &expect, DT_REQUEST_FILLING, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return q;
	}
	__atomic_add_fetch(&session.requests_full, 1, __ATOMIC_RELAXED);
	return 0;
}

/* Lets signals through in a wait, once in so many rounds: one that ends the program must come. */
static void let_signals(unsigned round, unsigned rounds, uint64_t *signals)
{
	if (round % rounds != rounds - 1)
		return;
	dt_signals_restore(signals);
	dt_signals_block(signals);
}

/* Returns what claim_request() does; with wait, if all are taken, waits until one is free. */
static struct dt_request *find_request(bool wait, uint64_t *signals)
{
	struct dt_request *q = claim_request();

	for (unsigned round = 0; !q && wait && !dt_controller_is_gone() && dt_controller_follows();
	     round++) {
		let_signals(round, 1000, signals);
		dt_bell_ring();
		dt_futex_wait(&session.request[0].state, session.request[0].state, DT_MS);
		q = claim_request();
	}
	return q;
}

#define PATIENCE 60 /* rounds of 50 ms */

/*
 * Sends a message to the controller. With wait, it returns when the controller has dealt with that,
 * or has gone, however long it takes: planning a library of a hundred thousand functions takes
 * seconds, and what ran meanwhile would not be recorded. A process that wants nothing recorded
 * waits three seconds at most. Signals wait, too, a second at most: this time is said to be
 * devtrace's, so nothing of the program's may run in it (wait_for_room() of ring.c).
 */
static void post(uint32_t kind, bool wait, uint64_t path, int dirfd)
{
	uint32_t why = kind == DT_REQUEST_MODULES   ? DT_HELD_MODULES
		       : kind == DT_REQUEST_PROCESS ? DT_HELD_FORK
		       : kind == DT_REQUEST_OPT_OUT ? DT_HELD_STOP
						    : DT_HELD_EXEC;
	struct dt_since since = {0, 0};
	struct dt_request *q;
	uint64_t fs, signals;
	bool timed;

	if (dt_controller_is_gone() || !dt_controller_follows())
		return;
	if (dt_is_confined() || dt_is_strict()) {
		__atomic_add_fetch(&session.unsent, 1, __ATOMIC_RELAXED);
		return;
	}
	timed = dt_clock_is_allowed();
	if (wait)
		dt_signals_block(&signals);
	if (timed)
		since = dt_since_now();
	q = find_request(wait, &signals);
	if (!q) {
		dt_bell_ring();
		if (wait)
			dt_signals_restore(&signals);
		return;
	}
	q->kind = kind;
	q->pid = (uint32_t)dt_call4(DT_SYS_GETPID, 0, 0, 0, 0);
	q->tid = (uint32_t)dt_call4(DT_SYS_GETTID, 0, 0, 0, 0);
	q->ppid = (uint32_t)dt_call4(DT_SYS_GETPPID, 0, 0, 0, 0);
	q->waited = wait;
	q->area = (uint64_t)&blob;
	q->path = path;
	q->dirfd = dirfd;
	dt_own_thread_pointer_ask(&fs);
	q->fs = fs;
	q->proof = __atomic_add_fetch(&session.proofs, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&process_block.proof[q - session.request], q->proof, __ATOMIC_RELAXED);
	__atomic_store_n(&q->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
	dt_bell_ring();
	if (!wait)
		return; /* the controller frees the slot */
	for (unsigned rounds = 0;; rounds++) {
		uint32_t state = __atomic_load_n(&q->state, __ATOMIC_ACQUIRE);

		if (state == DT_REQUEST_DONE || dt_controller_is_gone() || !dt_controller_follows())
			break;
		if (rounds >= PATIENCE && __atomic_load_n(&kept_block.opted_out, __ATOMIC_ACQUIRE))
			break;
		let_signals(rounds, 20, &signals);
		dt_futex_wait(&q->state, state, 50 * DT_MS);
	}
	if (timed)
		dt_held_tell(q->tid | kept_block.tag, &since, why);
	__atomic_store_n(&q->state, DT_REQUEST_FREE, __ATOMIC_RELEASE);
	dt_signals_restore(&signals);
}

static void tell_of(uint32_t kind, bool wait, uint64_t path, int dirfd)
{
	bool counted = dt_calling_begin();

	post(kind, wait, path, dirfd);
	dt_calling_end(counted);
}

void dt_request_tell(uint32_t kind, bool wait)
{
	tell_of(kind, wait, 0, -1);
}

void dt_request_process(bool born, bool wait)
{
	tell_of(DT_REQUEST_PROCESS, wait, born, -1);
}

void dt_request_exec(uint64_t path, int dirfd)
{
	tell_of(DT_REQUEST_EXEC, true, path, dirfd);
}

void dt_modules_changed(void)
{
	dt_request_tell(DT_REQUEST_MODULES, true);
}

/*
 * Called when the process wants nothing recorded any more. From here on its hooks take the slow
 * path, which records nothing; the controller, for which this waits, switches its sites off.
 * Children inherit both.
 */
void dt_opt_out(void)
{
	__atomic_store_n(&kept_block.opted_out, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
	dt_request_tell(DT_REQUEST_OPT_OUT, true);
}
