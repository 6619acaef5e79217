/* SPDX-License-Identifier: MIT */
/* Writing and reading ctl, the session's control file. */
#ifndef DT_SESSION_CTL_H
#define DT_SESSION_CTL_H

#include <stddef.h>

#include "core/device.h"

struct dt_session;

/* Has n bytes of commands obeyed, after everything recorded so far has been taken out of the rings.
 * Returns 0, or -1 and an error. Any thread, without the lock. */
int dt_ctl_write(struct dt_session *s, const struct dt_asker *who, const char *text, size_t n,
		 struct dt_error *e);
/* Calls `line' for each line that ctl shows, after everything recorded so far has been taken out of
 * the rings. Any thread, without the lock. */
void dt_ctl_read(struct dt_session *s, void (*line)(void *ctx, const char *text, size_t n),
		 void *ctx);

/* Sets the options' tracepoints that are not set yet, after processes were attached. Returns 0, or
 * -1 and an error. Owner thread, without the lock. */
int dt_ctl_points(struct dt_session *s, struct dt_error *e);

#endif
