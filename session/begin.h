/* SPDX-License-Identifier: MIT */
/* Starting programs under trace, and attaching to processes that run. All of it is called by the
 * owner thread, without the session's lock. */
#ifndef DT_SESSION_BEGIN_H
#define DT_SESSION_BEGIN_H

#include "process/launch.h"

struct dt_session;
struct dt_target;

/* Starts a program under trace that waits until it is let go (process/launch.h). Returns its pid,
 * or -1 and an error. */
pid_t dt_session_start(struct dt_session *s, struct dt_launch *l, struct dt_error *e);
/* Attaches to a running process. Returns 0, or -1 and an error. */
int dt_session_attach(struct dt_session *s, pid_t pid, struct dt_error *e);

/* Tells whether the program that was started has been ended because nothing of it can be traced or
 * its tracepoints can not be set; *e then says why. */
bool dt_session_refused(const struct dt_session *s, struct dt_error *e);

/* Fills in the error that says why nothing of the target can be traced, whose program is `path';
 * returns -1 always. */
int dt_session_say_untraceable(const struct dt_target *t, const char *path, struct dt_error *e);

#endif
