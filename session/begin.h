/* SPDX-License-Identifier: MIT */
/* Starting programs under trace, and attaching to processes that run. Owner thread. */
#ifndef DT_SESSION_BEGIN_H
#define DT_SESSION_BEGIN_H

#include "process/launch.h"
#include "session/state.h"

/* Starts a program that waits (process/launch.h) under trace; returns its target, running. */
struct dt_target *dt_session_start(struct dt_session *s, struct dt_launch *l, struct dt_error *e);
/* Attaches to a running process. */
struct dt_target *dt_session_attach(struct dt_session *s, pid_t pid, struct dt_error *e);

#endif
