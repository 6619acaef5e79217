/* SPDX-License-Identifier: MIT */
#include "session/helds.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "process/threads.h"
#include "session/doubt.h"
#include "session/domain.h"
#include "session/births.h"
#include "session/lives.h"
#include "session/sieve.h"
#include "session/thread-table.h"
#include "session/tids.h"

static const char *const why[DT_HELD_WHYS] = {
	[DT_HELD_ROOM] = "room", [DT_HELD_MODULES] = "modules", [DT_HELD_EXEC] = "exec",
	[DT_HELD_FORK] = "fork", [DT_HELD_STOP] = "stop",
};

static bool told_by_threads(const struct dt_session *s)
{
	for (unsigned i = 0, n = dt_domains(s); i < n; i++)
		if (dt_shared_helds(s->domain[i]->shared) != s->domain[i]->helds)
			return true;
	return false;
}

bool dt_helds_new(const struct dt_session *s)
{
	return told_by_threads(s) || dt_threads_stopped(NULL);
}

/* Returns a tick of a core as the first core would have read it. */
static uint64_t corrected(const struct dt_session *s, uint64_t ticks, unsigned core)
{
	if (!s->offset || core >= s->targets.shared.geometry.cores)
		return ticks;
	return ticks - (uint64_t)dt_offset_correction(&s->offset[core]);
}

/* Puts a wait of the thread with that number of ours into the file, or into the list of a session
 * without one. */
static void put(struct dt_session *s, struct dt_held_row *row)
{
	if (!row->tid || row->begin >= row->end)
		return;
	row->tid = dt_lives_at(s, row->tid, row->end);
	if (s->sieve)
		dt_sieve_held(s->sieve, row->tid, row->begin, row->end,
			      row->why == why[DT_HELD_ROOM]);
	if (dt_session_has_file(s)) {
		/* the thread may have no record: none was kept */
		dt_thread_table_describe(s, row->tid);
		dt_store_held(s->store, row, NULL);
	}
	if (s->has_log && !s->held)
		s->held = malloc(DT_HELD_LOG * sizeof(*s->held));
	if (s->has_log && s->held)
		s->held[s->held_n++ % DT_HELD_LOG] = *row;
}

uint64_t dt_helds_list(struct dt_session *s, uint64_t from, uint64_t *first,
		       void (*add)(void *ctx, const char *text, size_t n), void *ctx)
{
	const struct dt_shared_counts c = dt_domains_counts(s);
	char line[96];

	add(ctx, line,
	    dt_format(line, sizeof(line), "missed %u %lu\n", c.held_missed + s->held_refused,
		      (unsigned long)((double)c.held_missed_ticks / s->ticks_per_ns)));
	*first = s->held_n > DT_HELD_LOG && from < s->held_n - DT_HELD_LOG ? s->held_n - DT_HELD_LOG
									   : from;
	for (uint64_t i = *first; i < s->held_n; i++) {
		const struct dt_held_row *r = &s->held[i % DT_HELD_LOG];

		add(ctx, line,
		    dt_format(line, sizeof(line), "%u %lu %lu %s\n", r->tid,
			      (unsigned long)r->begin, (unsigned long)r->end, r->why));
	}
	return s->held_n;
}

void dt_helds_end(struct dt_session *s)
{
	struct dt_shared_counts c;
	char text[64];

	dt_helds_take(s);
	c = dt_domains_counts(s);
	if (!dt_session_has_file(s) || !(c.held_missed + s->held_refused))
		return;
	dt_format(text, sizeof(text), "%u %lu", c.held_missed + s->held_refused,
		  (unsigned long)((double)c.held_missed_ticks / s->ticks_per_ns));
	dt_store_meta(s->store, "held_missed", text, NULL);
}

/*
 * Tells whether a reported wait can have happened. A process can report what it likes: a wait that
 * can not have happened, or is another domain's thread's, is only counted, and no wait of that
 * domain is believed any more.
 */
static bool is_possible(struct dt_session *s, const struct dt_domain *d,
			const struct dt_held_row *row)
{
	uint64_t apart = dt_doubt_apart(s);
	bool known;

	return row->why[0] && row->begin + apart >= s->began && row->begin <= row->end &&
	       row->end <= dt_ticks() + apart &&
	       dt_thread_table_owns(s, d, row->tid, row->end, &known);
}

static void take(struct dt_session *s, struct dt_domain *d)
{
	for (unsigned i = 0; i < DT_HELDS && dt_shared_helds(d->shared) != d->helds; i++) {
		struct dt_held_row row;
		struct dt_held h;

		if (!dt_shared_held_take(d->shared, i, &h))
			continue;
		row = (struct dt_held_row){.begin = corrected(s, h.begin, h.core_begin),
					   .end = corrected(s, h.end, h.core_end),
					   .why = h.why < DT_HELD_WHYS && why[h.why] ? why[h.why]
										     : ""};
		d->helds++;
		d->forges = d->forges || !dt_doubt_number(s, h.tid);
		row.tid = d->forges ? 0 : dt_tids_outer(s, h.tid, row.end);
		d->forges = d->forges || !is_possible(s, d, &row);
		if (d->forges)
			s->held_refused++;
		else
			put(s, &row);
	}
}

void dt_helds_take(struct dt_session *s)
{
	struct dt_stopped stop;

	dt_births_take(s); /* these threads have told of their births before */
	while (dt_threads_stopped(&stop)) {
		struct dt_held_row row = {(uint32_t)stop.tid, stop.begin, stop.end,
					  why[DT_HELD_STOP]};

		put(s, &row);
	}
	for (unsigned i = 0, n = dt_domains(s); i < n; i++)
		take(s, s->domain[i]);
}
