/* SPDX-License-Identifier: MIT */
/* Checks of what processes have written into the rings of their domain, before it is believed: they
 * can write anything there. Only domains of other users' processes are checked. Recorder thread. */
#ifndef DT_SESSION_DOUBT_H
#define DT_SESSION_DOUBT_H

#include "session/state.h"

/* Returns by how many ticks a time read on a traced process's core and one read here may differ at
 * most. */
uint64_t dt_doubt_apart(const struct dt_session *s);

/* Tells whether a thread, or a process, can have that number: numbers with a tag only where there
 * is another PID namespace. Those beyond the tags stand for threads of others. */
bool dt_doubt_number(const struct dt_session *s, uint32_t number);
/*
 * Returns how many of the n records from ring i of domain d, counted from the first, can be true.
 * Such a record is not from before the session or from the future, is in the order of time (not
 * required in the shared ring), has a thread number that can exist, and has a pc where hooks are if
 * it is a call. The records are as they were in the ring. Without the lock.
 */
size_t dt_doubt_records(struct dt_session *s, struct dt_domain *d, unsigned i,
			const struct dt_record *r, size_t n);

/* Returns how many of the n records from a ring of domain d, counted from the first, are of threads
 * of that domain. The records have our numbers of threads already. Without the lock. */
size_t dt_doubt_threads(struct dt_session *s, struct dt_domain *d, const struct dt_record *r,
			size_t n);

/* Tells whether `lost' is more records than one ring of domain d can have lost since the session
 * began. */
bool dt_doubt_losses(const struct dt_session *s, const struct dt_domain *d, uint64_t lost);

/*
 * Tells whether the counts of ring i's writers (records written, records without room) contradict
 * what was taken from it; then they must not be believed. Called when nothing writes any more. A
 * process can falsify the counts of its own domain only.
 */
bool dt_doubt_counts(const struct dt_domain *d, unsigned i);

#endif
