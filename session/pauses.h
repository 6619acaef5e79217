/* SPDX-License-Identifier: MIT */
/*
 * Times in which a session records nothing because it was told not to: frozen by a command, a limit
 * or a trigger, or stopped. They go to its file as they end, with how many events came meanwhile.
 * All with the session's lock.
 */
#ifndef DT_SESSION_PAUSES_H
#define DT_SESSION_PAUSES_H

#include "session/state.h"

/* The session begins, or is told to start or stop. */
void dt_pauses_start(struct dt_session *s, bool active);

/* n records have been taken from a domain's shared ring, none may be; pos: of the first. */
void dt_pauses_take(struct dt_session *s, struct dt_domain *d, const struct dt_record *r, size_t n,
		    uint64_t pos);

/* The session ends. Before its file is closed, with no record left in the rings. */
void dt_pauses_end(struct dt_session *s);

#endif
