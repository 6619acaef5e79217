/* SPDX-License-Identifier: MIT */
/* The totals of a session, which are written to its trace file at its end. */
#ifndef DT_SESSION_ACCOUNT_H
#define DT_SESSION_ACCOUNT_H

#include "session/state.h"

/*
 * Writes the session's totals to its trace file, and the names of broken rings to the results.
 * Called when nothing records any more and all records have been read, before the file is closed.
 */
void dt_account_write(struct dt_session *s);

#endif
