/* SPDX-License-Identifier: MIT */
/* How a session has context switches: whether somebody has asked for them, and what its file says
 * of them. */
#ifndef DT_SESSION_SWITCHING_H
#define DT_SESSION_SWITCHING_H

#include "session/state.h"

/* Begins to record them, if the session's options say so. Returns 0, or -1 and an error. */
int dt_switching_begin(struct dt_session *s, unsigned cores, struct dt_error *e);
/* Completes that. Returns 0, also where they can not be had and need not, or -1 and an error. */
int dt_switching_ready(struct dt_session *s, struct dt_error *e);

/* Follows a process that comes into the session, which began at that tick. Returns 0, or -1 and an
 * error. */
int dt_switching_follow(struct dt_session *s, struct dt_target *t, uint64_t birth,
			struct dt_error *e);

/* Writes into the file why there are no switches, if there are none although it was tried, and from
 * when on, if they have ended. To be called by who owns the store, when it has been made and from
 * time to time. */
void dt_switching_store(struct dt_session *s);

#endif
