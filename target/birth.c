/* SPDX-License-Identifier: MIT */
#include "target/birth.h"
#include "target/calls.h"
#include "target/held.h"
#include "target/request.h"
#include "target/rseq.h"

#define ROUNDS 200 /* of a millisecond: for so long a thread waits for a place at most */

/* Returns a free place for a birth, now being filled; NULL: all are taken. */
static struct dt_birth *claim_birth(void)
{
	uint32_t at = __atomic_load_n(&session.births, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < DT_BIRTHS; i++) {
		struct dt_birth *b = &session.birth[(at + i) % DT_BIRTHS];
		uint32_t expect = DT_REQUEST_FREE;

		if (__atomic_load_n(&b->state, __ATOMIC_RELAXED) == DT_REQUEST_FREE &&
		    __atomic_compare_exchange_n(&b->state, &expect, DT_REQUEST_FILLING, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return b;
	}
	return 0;
}

/* Waits for a place in which a birth can be told; NULL: there is none, and nobody makes room. */
static struct dt_birth *find_birth(void)
{
	struct dt_birth *b = claim_birth();

	for (int i = 0; !b && i < ROUNDS && !dt_controller_is_gone() && dt_controller_follows();
	     i++) {
		dt_bell_ring();
		dt_futex_wait(&session.birth[0].state, DT_REQUEST_POSTED, DT_MS);
		b = claim_birth();
	}
	return b;
}

/* Returns when this forked child has first told of its birth. */
static struct dt_since forked_since(void)
{
	struct dt_since since = dt_since_now();
	uint64_t none = 0;

	if (__atomic_compare_exchange_n(&process_block.born, &none, since.ticks, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		process_block.born_core = since.core;
	since.ticks = process_block.born;
	since.core = process_block.born_core;
	return since;
}

bool dt_birth_tell(uint64_t made)
{
	struct dt_since since;
	struct dt_birth *b = 0;
	uint32_t births;
	bool calls = !dt_is_confined() && !dt_is_strict();

	if (dt_controller_is_gone() || !dt_controller_follows() ||
	    (calls && !dt_clock_is_allowed()))
		return false;
	if (calls) {
		since = made == DT_BIRTH_FORKED ? forked_since() : dt_since_now();
		b = find_birth();
	}
	if (!b) {
		__atomic_add_fetch(&session.births_missed, 1, __ATOMIC_RELAXED);
		return false;
	}
	b->tid = (uint32_t)dt_call4(DT_SYS_GETTID, 0, 0, 0, 0) | kept_block.tag;
	b->pid = (uint32_t)dt_call4(DT_SYS_GETPID, 0, 0, 0, 0) | kept_block.tag;
	b->core = since.core;
	/* a child of vfork, too: once it has ended nothing else says in whose code it was */
	b->parent = made == DT_BIRTH_FORKED || b->tid == b->pid
			    ? (uint32_t)dt_call4(DT_SYS_GETPPID, 0, 0, 0, 0) | kept_block.tag
			    : 0;
	b->ticks = since.ticks;
	b->made = made == DT_BIRTH_FORKED ? 0 : made;
	/* counted before it can be taken, as in dt_held_tell() */
	births = __atomic_add_fetch(&session.births, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&b->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
	/* long before there is no room any more */
	if (births % (DT_BIRTHS / 4) == 0)
		dt_bell_ring();
	return true;
}

uint64_t dt_before_vfork(void)
{
	dt_rseq_prepare();
	return dt_clock_is_allowed() ? dt_since_now().ticks : 0;
}

void dt_born(uint64_t made)
{
	bool counted;

	if (__atomic_load_n(&kept_block.opted_out, __ATOMIC_ACQUIRE))
		return;
	counted = dt_calling_begin();
	dt_birth_tell(made);
	dt_calling_end(counted);
}
