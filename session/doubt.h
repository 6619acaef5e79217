/* SPDX-License-Identifier: MIT */
/*
 * What the processes of a domain have written into its rings is looked at before it is believed:
 * they can write there what they like. Recorder thread.
 */
#ifndef DT_SESSION_DOUBT_H
#define DT_SESSION_DOUBT_H

#include "session/state.h"

/* By how many ticks a time that a traced process's core had and one that is read here may differ,
 * at most. */
uint64_t dt_doubt_apart(const struct dt_session *s);

/*
 * How many of the n records that ring i of another user's domain had, from the first on, can be
 * true: not from before the session or from the future, in the order of time but in the shared
 * ring, of threads with numbers that there are, and with calls only from where hooks are. As they
 * were in the ring. Without the lock.
 */
size_t dt_doubt_records(struct dt_session *s, struct dt_domain *d, unsigned i,
			const struct dt_record *r, size_t n);

/* How many, from the first on, of those that were in a ring of another user's domain are of threads
 * of that domain; by our numbers of these. Without the lock. */
size_t dt_doubt_threads(struct dt_session *s, struct dt_domain *d, const struct dt_record *r,
			size_t n);

/* Can so many records of another user's domain not have been lost in one ring since the session
 * began? */
bool dt_doubt_losses(const struct dt_session *s, const struct dt_domain *d, uint64_t lost);

/*
 * Nobody writes any more. Does what a ring's writers say that they wrote, and had no place for, not
 * fit what came? In a domain of another user's processes these numbers are its own then.
 */
bool dt_doubt_counts(const struct dt_domain *d, unsigned i);

#endif
