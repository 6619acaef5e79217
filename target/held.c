/* SPDX-License-Identifier: MIT */
#include "target/held.h"

struct dt_since dt_since_now(void)
{
	struct dt_since s;

	s.ticks = dt_clock_and_core(&s.core);
	return s;
}

void dt_held_tell(uint32_t tid, const struct dt_since *since, uint32_t why)
{
	uint32_t core, at = __atomic_load_n(&session.helds, __ATOMIC_RELAXED);
	uint64_t now = dt_clock_and_core(&core);

	for (uint32_t i = 0; tid != DT_NO_TID && i < DT_HELDS; i++) {
		struct dt_held *h = &session.held[(at + i) % DT_HELDS];
		uint32_t expect = DT_REQUEST_FREE;

		if (__atomic_load_n(&h->state, __ATOMIC_RELAXED) != DT_REQUEST_FREE ||
		    !__atomic_compare_exchange_n(&h->state, &expect, DT_REQUEST_FILLING, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		h->tid = tid;
		h->why = why;
		h->core_begin = (uint16_t)since->core;
		h->core_end = (uint16_t)core;
		h->begin = since->ticks;
		h->end = now;
		/* counted before it can be taken: the controller looks for as many as are counted,
		 * and would else be content with one that is not counted yet, and leave this one
		 * for later than the record that waits for it */
		__atomic_add_fetch(&session.helds, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&h->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
		return;
	}
	__atomic_add_fetch(&session.held_missed_ticks, now - since->ticks, __ATOMIC_RELAXED);
	__atomic_add_fetch(&session.held_missed, 1, __ATOMIC_RELAXED);
}
