/* SPDX-License-Identifier: MIT */
/*
 * Waits: times in which a thread of the program could not go on because of devtrace. It waited for
 * room in a ring, or until libraries that it had loaded were hooked, or was stopped while hooks
 * were planted. They are written to the trace file, so that they are not taken for the program's
 * own time.
 */
#ifndef DT_SESSION_HELDS_H
#define DT_SESSION_HELDS_H

#include "session/state.h"

/* Takes the waits reported since the last call into the session's file, or into its list when it
 * has none. With the lock. */
void dt_helds_take(struct dt_session *s);
/* Takes the last waits, and writes to the file how many could not be reported. With the lock, or
 * when there are no other threads. */
void dt_helds_end(struct dt_session *s);
/*
 * Lists the waits of a session without a file from number `from' on: calls `add' with a line for
 * each, "THREAD BEGIN END WHY", the times in ticks. Before them comes "missed N NS": how many could
 * not be reported, and their total time. *first becomes the number of the first wait listed, which
 * is later than `from' when that one is not remembered any more. Returns the number of the next to
 * come. With the lock.
 */
uint64_t dt_helds_list(struct dt_session *s, uint64_t from, uint64_t *first,
		       void (*add)(void *ctx, const char *text, size_t n), void *ctx);
/* Tells whether waits have been reported since the last dt_helds_take(). Without the lock. */
bool dt_helds_new(const struct dt_session *s);

#endif
