/* SPDX-License-Identifier: MIT */
/*
 * Following traced processes into the programs that they execute. All of it is the owner thread's.
 */
#ifndef DT_SESSION_EXECS_H
#define DT_SESSION_EXECS_H

#include "session/state.h"

#define DT_EXECS                                                                                   \
	(sizeof(((struct dt_session *)0)->exec_tid) / sizeof(pid_t)) /* execs at once, at most */

/* Deals with a thread's message that it is about to call execve: seizes it by ptrace, so that it
 * stops when the call is through. With the lock. No more than DT_EXECS at once. */
void dt_exec_begins(struct dt_session *s, const struct dt_request *q);
/* Deals with a thread's message that its execve has failed. Returns true when the thread has been
 * let go, false when it does not stop just now and this has to be tried again. With the lock. */
bool dt_exec_failed(struct dt_session *s, const struct dt_request *q);
/* Takes the processes whose execve is through into the session, or notes why they are not followed.
 * Without the lock. */
void dt_execs_check(struct dt_session *s);

#endif
