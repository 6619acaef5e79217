/* SPDX-License-Identifier: MIT */
/*
 * Entries of calls of the kernel that come late: when the calls have ended (bpf/choose.h), after
 * records that are later than they. They are put into the sieve's queues once all records up to
 * their times have been taken. The recorder thread's.
 */
#ifndef DT_SESSION_LATE_H
#define DT_SESSION_LATE_H

#include "session/state.h"

/* Zero-initialised: there are none. */
struct dt_late {
	struct dt_record *record; /* those that have come, and others may still come before them */
	size_t n, room;
	size_t given; /* so many of the first ones have been returned */
};

/* Begins a round over all rings, before any is read. last: nothing records any more. Returns the
 * ticks up to which, when the round is over, no more entries come late. */
uint64_t dt_late_begin(struct dt_session *s, bool last);

/* Takes those that have come in the round. Returns -1 and an error. */
int dt_late_take(struct dt_session *s, struct dt_late *l, struct dt_error *e);

/* Returns the next one up to a time, which the caller may change until it asks again; NULL: there
 * is none. *core: the core that it is of. */
struct dt_record *dt_late_next(struct dt_late *l, uint64_t until, unsigned *core);

/* Forgets those that have been returned. */
void dt_late_done(struct dt_late *l);

void dt_late_free(struct dt_late *l);

#endif
