/* SPDX-License-Identifier: MIT */
/*
 * Keeping only what was recorded last (--last): a flight recorder whose length is a time. Now and
 * then the recorder makes a mark in the file, before which all records of all cores are earlier
 * than all behind it; what is before a mark that is old enough is removed. So the file begins at
 * one moment, as if recording had begun then. All functions are called with the session's lock, by
 * the recorder thread.
 */
#ifndef DT_SESSION_LAST_H
#define DT_SESSION_LAST_H

#include "core/error.h"

struct dt_session;

/* Makes a mark, if that is due, and removes what is too old; until: as for dt_sieve_run(), which
 * has run. To be called after each round. Returns -1 and an error. */
int dt_last_turn(struct dt_session *s, uint64_t until, struct dt_error *e);

#endif
