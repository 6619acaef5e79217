/* SPDX-License-Identifier: MIT */
/*
 * Keeps a session to its budget (--budget): counts the records of each function, has
 * session/budget.c decide which functions are to be off, switches them, and notes in the trace file
 * when each was off and how many calls it is thought to have made then. All with the session's
 * lock, but for dt_throttle_look().
 */
#ifndef DT_SESSION_THROTTLE_H
#define DT_SESSION_THROTTLE_H

#include "hook/calibrate.h"
#include "session/state.h"

struct dt_throttle;

/* Tells whether a session can have these options with a budget: 0, or -1 and the reason why not. */
int dt_throttle_check(const struct dt_options *o, struct dt_error *e);

/* Looks whether jumps to what is off are lifted (hook/probes-lift.c): with a budget, so that it
 * costs nothing; and where DEVTRACE_LIFT is set, for tests, which switch more than a budget does.
 */
bool dt_throttle_lifts(const struct dt_options *o);

/* Returns what keeps to the session's budget; costs: what records cost on this machine. NULL: no
 * memory. */
struct dt_throttle *dt_throttle_new(const struct dt_session *s, const struct dt_costs *costs);
void dt_throttle_free(struct dt_throttle *k);

/* Counts records that have been taken of one core. Recorder thread. */
void dt_throttle_count(struct dt_session *s, const struct dt_record *r, size_t n);

/* Writes what is off just now, and how many calls have been missed so far. */
void dt_throttle_note(struct dt_session *s);

/* Returns whether it is time to compare: then what is still in the rings should be taken first.
 * Owner thread. */
bool dt_throttle_due(const struct dt_session *s);

/* Looks whether it is time to compare and to switch, and does so. Owner thread, without the lock.
 */
void dt_throttle_look(struct dt_session *s);

/* Writes what is off at the end, and the totals to the session's results. Owner thread, when the
 * recorder has ended. */
void dt_throttle_end(struct dt_session *s);

#endif
