/* SPDX-License-Identifier: MIT */
/* Starting programs under trace, and attaching to processes that run. Owner thread. */
#ifndef DT_SESSION_BEGIN_H
#define DT_SESSION_BEGIN_H

#include "process/launch.h"

struct dt_session;
struct dt_target;

/* Starts a program that waits (process/launch.h) under trace; returns its number, or -1. */
pid_t dt_session_start(struct dt_session *s, struct dt_launch *l, struct dt_error *e);
/* Attaches to a running process. */
int dt_session_attach(struct dt_session *s, pid_t pid, struct dt_error *e);

/* The program that was started has been ended: nothing of it can be traced (e says why), or its
 * tracepoints can not be set. */
bool dt_session_refused(const struct dt_session *s, struct dt_error *e);

/* Nothing of the target, which is path's, can be traced: says why, and returns -1. */
int dt_session_refuse(const struct dt_target *t, const char *path, struct dt_error *e);

#endif
