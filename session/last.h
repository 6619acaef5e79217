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

#define DT_LAST_MARKS 64u /* at a time */

struct dt_last {
	struct dt_last_mark {
		uint64_t ns;	/* when it was made, by the monotonic clock */
		uint64_t ticks; /* no record before it is later, and none behind it as early */
		int64_t chunk;	/* the last one before it */
	} mark[DT_LAST_MARKS];	/* the oldest first */
	unsigned marks;
};

/* Makes a mark, if that is due, and removes what is too old; until: as for dt_sieve_run(), which
 * has run. To be called after each round. Returns -1 and an error. */
int dt_last_turn(struct dt_session *s, uint64_t until, struct dt_error *e);

#endif
