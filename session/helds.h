/* SPDX-License-Identifier: MIT */
/*
 * Times in which a thread of the program could not go on because of us: waiting for room, for what
 * was loaded to be hooked, stopped for planting. They go to the file, so that nobody takes them for
 * the program's own.
 */
#ifndef DT_SESSION_HELDS_H
#define DT_SESSION_HELDS_H

#include "session/state.h"

/* What threads have told since the last call, into the session's file, if it has one. With the
 * lock. */
void dt_helds_take(struct dt_session *s);
/* The last of them, and how many could not be told. With the lock. */
void dt_helds_end(struct dt_session *s);
/*
 * Of a session without a file: the waits from number `from' on, a line for each, "THREAD BEGIN END
 * WHY" in ticks; in front of them "missed N NS", those that could not be told. Returns the number
 * of the next one; *first: that of the first, later than `from' if there were more than are
 * remembered. With the lock.
 */
uint64_t dt_helds_list(struct dt_session *s, uint64_t from, uint64_t *first,
		       void (*add)(void *ctx, const char *text, size_t n), void *ctx);
/* Has any thread told something since? Without the lock. */
bool dt_helds_new(const struct dt_session *s);

#endif
