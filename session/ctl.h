/* SPDX-License-Identifier: MIT */
/* Writing and reading ctl. */
#ifndef DT_SESSION_CTL_H
#define DT_SESSION_CTL_H

#include <stddef.h>

#include "core/device.h"

struct dt_session;

/* Everything that has been recorded is counted before. Without the lock. */
int dt_ctl_write(struct dt_session *s, const struct dt_asker *who, const char *text, size_t n,
		 struct dt_error *e);
void dt_ctl_read(struct dt_session *s, void (*line)(void *ctx, const char *text, size_t n),
		 void *ctx);

/* Sets the tracepoints of the options, after the attaching. Owner thread. */
int dt_ctl_points(struct dt_session *s, struct dt_error *e);

#endif
