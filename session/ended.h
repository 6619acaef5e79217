/* SPDX-License-Identifier: MIT */
/* Processes that have ended. */
#ifndef DT_SESSION_ENDED_H
#define DT_SESSION_ENDED_H

#include "session/state.h"

/* Looks for those that have, and which children of theirs nobody knows. Owner thread. */
void dt_ended_look(struct dt_session *s);
/* Of which all records have been read: they are let go. Owner thread. */
void dt_ended_leave(struct dt_session *s);

#endif
