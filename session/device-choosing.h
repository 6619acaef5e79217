/* SPDX-License-Identifier: MIT */
/*
 * The commands of a session that choose among calls: filter, sum, until, signal. All functions are
 * called with the session's lock.
 */
#ifndef DT_SESSION_DEVICE_CHOOSING_H
#define DT_SESSION_DEVICE_CHOOSING_H

#include "core/device.h"

struct dt_session;

/* Obeys such a command. Returns 0, -1 and an error, or 1: it is another command. */
int dt_device_choosing(struct dt_session *s, const struct dt_asker *who, char *const *word,
		       unsigned n, struct dt_error *e);

/* Calls `line' for each command that restores what is chosen now. */
void dt_device_choosing_state(struct dt_session *s,
			      void (*line)(void *to, const char *text, size_t n), void *to);

#endif
