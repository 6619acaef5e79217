/* SPDX-License-Identifier: MIT */
/*
 * Pauses: times in which a session records nothing because it was told not to. It was frozen by a
 * command, a limit or a trigger, or it was stopped. Each pause goes to the session's file when it
 * ends, with the number of events that came meanwhile. All functions are called with the session's
 * lock, or when there are no other threads.
 */
#ifndef DT_SESSION_PAUSES_H
#define DT_SESSION_PAUSES_H

#include "session/state.h"

/*
 * Notes that recording starts (active) or stops, at the beginning of the session or by a command.
 */
void dt_pauses_start(struct dt_session *s, bool active);

/* Writes the freezes that have ended before the last of n records, just taken from a domain's
 * shared ring. n may be 0. pos: position of the first record. */
void dt_pauses_take(struct dt_session *s, struct dt_domain *d, const struct dt_record *r, size_t n,
		    uint64_t pos);

/* Writes the pauses that last until the session ends. Called when no record is left in the rings,
 * before the file is closed. */
void dt_pauses_end(struct dt_session *s);

#endif
