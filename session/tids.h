/* SPDX-License-Identifier: MIT */
/*
 * Threads in other PID namespaces. Their records have the numbers that the threads have there, with
 * a tag of the namespace (process/pid-namespace.h). Here these are replaced by our numbers, by
 * which everything else knows the threads: ps, gdb, the kernel's rings. A thread that has ended
 * before it was asked for keeps tag and number, and is counted.
 */
#ifndef DT_SESSION_TIDS_H
#define DT_SESSION_TIDS_H

#include "session/state.h"

struct dt_birth;

/* Notes both numbers of process t, when it is in another namespace. With the lock. */
void dt_tids_note(struct dt_session *s, const struct dt_target *t);
/* Notes that a tagged number is another thread's from now on, of which our number is looked for
 * when it is asked for. False: it has no tag. With the lock. */
bool dt_tids_born(struct dt_session *s, const struct dt_birth *b);
/* Returns our number of the thread that had a number at that time, tid itself when it has no tag or
 * is not found. With the lock. */
uint32_t dt_tids_outer(struct dt_session *s, uint32_t tid, uint64_t ticks);
/* Replaces tagged thread numbers in n records by ours. Takes the lock when there is something to
 * do. */
void dt_tids_correct(struct dt_session *s, struct dt_record *r, size_t n);
/* Writes to `out' up to `most' tagged numbers of the thread that has the number `outer' here, one
 * for each other namespace it is in; returns how many. With the lock. */
size_t dt_tids_inner(struct dt_session *s, uint32_t outer, uint32_t *out, size_t most);
/* Frees the table. */
void dt_tids_free(struct dt_tids *t);
#endif
