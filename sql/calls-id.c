/* SPDX-License-Identifier: MIT */
/* Ids of calls: they do not depend on where pairing began, and tell when a call began. */
#include "sql/calls-work.h"

/* Returns the id of a call: ordered by begin, then depth, then thread. Two calls of a thread can
 * begin at the same tick only if one is in the other. */
int64_t dt_sql_calls_id(const struct scan *x, const struct dt_call *c)
{
	const struct dt_reader *r = x->of->pass->reader;
	const struct dt_thread_info *t = c->tid == DT_NO_TID ? NULL : dt_reader_thread(r, c->tid);
	uint32_t slot = x->slots - 1;
	uint64_t id;
	size_t n;

	if (c->flags & DT_CALL_NO_ENTRY)
		return 0;
	if (t && (size_t)(t - dt_reader_threads(r, &n)) < slot)
		slot = (uint32_t)(t - dt_reader_threads(r, &n));
	id = (c->begin - x->of->pass->source->first) * 4 + (c->depth & 3);
	return (int64_t)((id * x->slots + slot + 1) & INT64_MAX);
}

/* Returns the tick at which a call with such an id begins. */
uint64_t dt_sql_calls_begin_of(const struct scan *x, int64_t id)
{
	return x->of->pass->source->first + (uint64_t)(id - 1) / x->slots / 4;
}

uint32_t dt_sql_calls_slot_of(const struct scan *x, int64_t id)
{
	return (uint32_t)((uint64_t)(id - 1) % x->slots);
}
