/* SPDX-License-Identifier: MIT */
/* Programs that traced processes execute. Owner thread, all of it. */
#ifndef DT_SESSION_EXECS_H
#define DT_SESSION_EXECS_H

#include "session/state.h"

#define DT_EXECS                                                                                   \
	(sizeof(((struct dt_session *)0)->exec_tid) / sizeof(pid_t)) /* under way, at most */

/* A thread says that it is about to make its execve: it is held until that is through. */
void dt_exec_begins(struct dt_session *s, const struct dt_request *q);
/* It says that it has failed: true when the thread is let go, false when that is not to be had now.
 */
bool dt_exec_failed(struct dt_session *s, const struct dt_request *q);
/* Those that are through are traced, or said not to be. */
void dt_execs_check(struct dt_session *s);

#endif
