/* SPDX-License-Identifier: MIT */
/*
 * A trace file of what a session keeps in its log only: the records are read, and left there, and
 * named as the session names them. Like any trace it can be read while it is written.
 */
#ifndef DT_SESSION_SPOOL_H
#define DT_SESSION_SPOOL_H

#include "core/error.h"
#include "core/types.h"

struct dt_spool;

#define DT_SPOOL_ALL (~0ull)

/* Begins path. from: the position of the first record that is wanted; 0: the oldest. */
struct dt_spool *dt_spool_create(const char *session, const char *path, uint64_t from,
				 struct dt_error *e);

/*
 * Writes the records in front of position `until' that have not been written, some thousands at
 * most; if there are none, waits for the first as long as ms. How many it were; -1: error; -2: the
 * session has ended and nothing is left.
 */
long dt_spool_write(struct dt_spool *s, uint64_t until, int ms, struct dt_error *e);

/* What has been written can be read by others. */
int dt_spool_flush(struct dt_spool *s, struct dt_error *e);

/* Ends the file. */
int dt_spool_close(struct dt_spool *s, struct dt_error *e);
/* Removes it. */
void dt_spool_discard(struct dt_spool *s);

#endif
