/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace file of what a session keeps in its log only. The records are read and left in the
 * log; names are those that the session gives. Like any trace file it can be read while it is
 * written.
 */
#ifndef DT_SESSION_SPOOL_H
#define DT_SESSION_SPOOL_H

#include "core/error.h"
#include "core/types.h"

struct dt_spool;

/* For dt_spool_write(): no end. */
#define DT_SPOOL_ALL (~0ull)

/* Begins the file `path' with records of that session. from: the position of the first record that
 * is wanted; 0: the oldest. Returns NULL and an error when that fails. */
struct dt_spool *dt_spool_create(const char *session, const char *path, uint64_t from,
				 struct dt_error *e);

/*
 * Writes records before position `until' that have not been written yet, some thousands at most;
 * when there are none, waits up to ms for the first. Returns how many it wrote; -1 and an error; -2
 * when the session has ended and nothing is left.
 */
long dt_spool_write(struct dt_spool *s, uint64_t until, int ms, struct dt_error *e);

/* Makes what has been written readable for others. Returns 0, or -1 and an error. */
int dt_spool_flush(struct dt_spool *s, struct dt_error *e);

/* Completes the file and frees s, also on error. Returns 0, or -1 and an error. */
int dt_spool_close(struct dt_spool *s, struct dt_error *e);
/* Removes the file and frees s. */
void dt_spool_discard(struct dt_spool *s);

#endif
