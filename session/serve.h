/* SPDX-License-Identifier: MIT */
/* Serving the traced processes. */
#ifndef DT_SESSION_SERVE_H
#define DT_SESSION_SERVE_H

#include <stddef.h>

struct dt_session;

/*
 * Serves the traced processes' messages and ends of processes for up to timeout_ms. Returns the
 * number of processes that are still traced.
 */
size_t dt_session_serve(struct dt_session *s, int timeout_ms);
/* The same, with children that have not recorded anything yet. */
size_t dt_session_serve_all(struct dt_session *s, int timeout_ms);
/* Answers what is asked, and lets go every thread that is held until its execve is through. */
void dt_serve_let_execs_go(struct dt_session *s);

#endif
