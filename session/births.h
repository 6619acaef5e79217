/* SPDX-License-Identifier: MIT */
/*
 * Births: each thread tells of its own before it records anything (struct dt_birth). They are taken
 * after the records of a ring, before these are looked at, so that a record's thread is known.
 */
#ifndef DT_SESSION_BIRTHS_H
#define DT_SESSION_BIRTHS_H

#include "session/state.h"

/* Tells whether births have been told that are not taken. Without the lock. */
bool dt_births_new(const struct dt_session *s);
/* Takes the births that have been told, and begins the threads' lives (session/lives.h). With the
 * lock. */
void dt_births_take(struct dt_session *s);
/* Writes to the file how many births could not be told. */
void dt_births_end(struct dt_session *s);

#endif
