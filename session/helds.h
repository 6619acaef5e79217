/* SPDX-License-Identifier: MIT */
/*
 * Times in which a thread of the program could not go on because of us: waiting for room, for what was
 * loaded to be hooked, stopped for planting. They go to the file, so that nobody takes them for the
 * program's own.
 */
#ifndef DT_SESSION_HELDS_H
#define DT_SESSION_HELDS_H

#include "core/types.h"

struct dt_session;

/* What threads have told since the last call, into the session's file, if it has one. With the lock. */
void dt_helds_take(struct dt_session *s);
/* The last of them, and how many could not be told. With the lock. */
void dt_helds_end(struct dt_session *s);
/* Has any thread told something since? Without the lock. */
bool dt_helds_new(const struct dt_session *s);

#endif
