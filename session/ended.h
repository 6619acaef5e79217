/* SPDX-License-Identifier: MIT */
/* Processes that have ended. */
#ifndef DT_SESSION_ENDED_H
#define DT_SESSION_ENDED_H

#include "session/state.h"

/* Marks the processes that have ended since the last call, and writes their ends to the file. Owner
 * thread, without the lock. */
void dt_ended_look(struct dt_session *s);
/* Frees what ended processes leave as soon as their records have been read, and looks for children
 * of theirs that have not made themselves known. Owner thread, without the lock. */
void dt_ended_leave(struct dt_session *s);

#endif
