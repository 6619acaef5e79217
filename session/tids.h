/* SPDX-License-Identifier: MIT */
/*
 * Threads in other PID namespaces: in records they have the numbers that they have there, with a
 * tag of the namespace (process/pid-namespace.h). Here they get ours, by which everybody else knows
 * them: ps, gdb, the kernel's rings. One that has ended before it was asked for keeps tag and
 * number; it is counted.
 */
#ifndef DT_SESSION_TIDS_H
#define DT_SESSION_TIDS_H

#include "session/state.h"

/* The number of process t, when it is in another namespace, is known. With the lock. */
void dt_tids_note(struct dt_session *s, const struct dt_target *t);
/* Our number of a thread. With the lock. */
uint32_t dt_tids_outer(struct dt_session *s, uint32_t tid);
/* Gives the records our numbers, where they are. Takes the lock when there is something to do. */
void dt_tids_correct(struct dt_session *s, struct dt_record *r, size_t n);
/* Up to `most' tagged numbers of the threads that are `outer' to us to out; how many. With the
 * lock. */
size_t dt_tids_inner(struct dt_session *s, uint32_t outer, uint32_t *out, size_t most);
void dt_tids_free(struct dt_tids *t);
#endif
