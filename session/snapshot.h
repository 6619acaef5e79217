/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: the trace as it is at one moment, in a file of its own, while recording goes on. The
 * recorder brings the file up to date, and a thread copies it, one at a time. All functions are
 * called with the session's lock.
 */
#ifndef DT_SESSION_SNAPSHOT_H
#define DT_SESSION_SNAPSHOT_H

#include "core/error.h"
#include "core/types.h"

struct dt_session;

/* Asks for a snapshot at that path, as soon as the records so far are in the file. why: as of what.
 * Returns its number; 0: out of memory. */
uint64_t dt_snapshot_ask(struct dt_session *s, const char *path, const char *why);

/* Begins to write the next snapshot, if one is due and none is being written. To be called by the
 * recorder thread, after the sieve has run. Returns -1 and an error: the file can not be written.
 */
int dt_snapshot_turn(struct dt_session *s, struct dt_error *e);

/* Waits until the snapshot with that number has been written; the lock is released meanwhile.
 * Returns -1 and an error: it has not been written. Any thread but the recorder. */
int dt_snapshot_wait(struct dt_session *s, uint64_t number, struct dt_error *e);

/* Writes those that are due, and waits until all are written. The recorder has ended. */
void dt_snapshot_end(struct dt_session *s);

#endif
