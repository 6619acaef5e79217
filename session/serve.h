/* SPDX-License-Identifier: MIT */
/* Serving the traced processes. All of it is the owner thread's, without the session's lock. */
#ifndef DT_SESSION_SERVE_H
#define DT_SESSION_SERVE_H

#include <stddef.h>

struct dt_session;

/*
 * Deals with messages of the traced processes, ended processes and requests of other threads, then
 * waits up to timeout_ms for more to come. Returns the number of processes that are still traced.
 */
size_t dt_session_serve(struct dt_session *s, int timeout_ms);
/* Serves as dt_session_serve() does; when no process is left, it also looks for children that have
 * not recorded anything yet. */
size_t dt_session_serve_all(struct dt_session *s, int timeout_ms);
/* Answers messages, and lets go every thread that is held until its execve is through. For the end
 * of the session. */
void dt_serve_let_execs_go(struct dt_session *s);

#endif
