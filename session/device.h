/* SPDX-License-Identifier: MIT */
/*
 * The device of a session: what the language means for live processes. Ranges become sites that are
 * switched, options a table that the slow path looks things up in, the log is what `trace' reads.
 *
 * Everything here is called with the session's lock held, but where said.
 */
#ifndef DT_SESSION_DEVICE_H
#define DT_SESSION_DEVICE_H

#include "core/device.h"
#include "session/state.h"

int dt_session_device_init(struct dt_session *s, struct dt_error *e);
void dt_session_device_free(struct dt_session *s);

/* What the command line has chosen becomes a range that is on. */
int dt_session_device_select(struct dt_session *s, const struct dt_selection *select,
			     struct dt_error *e);

/* A range with ARGS for each of the options' patterns for those. */
int dt_session_device_arguments(struct dt_session *s, struct dt_error *e);

/* As a range `contexts' that is on: the functions by which the program changes stacks. */
int dt_session_device_contexts(struct dt_session *s, struct dt_error *e);

/* Sets the tracepoints of the session's options that are not set yet. With the lock, or before
 * there are other threads. */
int dt_session_device_points(struct dt_session *s, struct dt_error *e);

/* How many functions each of the selection's patterns has matched. Takes the lock itself. */
void dt_session_device_hits(struct dt_session *s, struct dt_selection *select);

/*
 * The same of the options' i-th pattern for arguments, and which of those it names none of them
 * has. Takes the lock itself.
 */
uint64_t dt_session_device_matched(struct dt_session *s, size_t i, char *missing, size_t size);

/* A process has come, or its modules have changed: its sites and its table follow. */
void dt_session_device_follow(struct dt_session *s, struct dt_target *t);

/* The sites that s->ask_... say follow what is chosen, in every process. Owner thread, with the
 * lock. */
int dt_session_device_sync(struct dt_session *s, struct dt_error *e);

/* Timers of the triggers. Owner thread, from time to time, without the lock. */
void dt_session_device_tick(struct dt_session *s);

#endif
