/* SPDX-License-Identifier: MIT */
/*
 * A session: one set of rings, the processes that append to them, and a recorder that takes the
 * records into a trace file.
 *
 * Two threads. The owner thread (the one that called dt_session_create()) does everything with
 * processes, since ptrace belongs to a thread: it starts, attaches, follows, detaches. The recorder
 * thread takes records out of the rings and writes them. `lock' guards the targets, the files and
 * the store.
 */
#ifndef DT_SESSION_SESSION_H
#define DT_SESSION_SESSION_H

#include "session/state.h"

int dt_session_create(struct dt_session *s, const struct dt_options *o, struct dt_error *e);
/* Ends the recorder when it runs, closes the file, frees. */
int dt_session_close(struct dt_session *s, struct dt_error *e);

/* The same, but nothing was traced: the file that was there before is there again. */
void dt_session_discard(struct dt_session *s);

/* Begins recording: the rings are open, the recorder thread runs. */
int dt_session_record(struct dt_session *s, struct dt_error *e);

/* Stops recording, detaches every process, takes the last records. */
int dt_session_end(struct dt_session *s, struct dt_error *e);

#endif
