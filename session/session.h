/* SPDX-License-Identifier: MIT */
/*
 * A session: one set of rings, the processes that append to them, and a recorder that takes the
 * records into a trace file. What it consists of only session/ knows (session/state.h).
 *
 * Two threads. The owner thread (the one that called dt_session_create()) does everything with
 * processes, since ptrace belongs to a thread: it starts, attaches, follows, detaches. The recorder
 * thread takes records out of the rings and writes them.
 *
 * All of these are called by the owner thread.
 */
#ifndef DT_SESSION_SESSION_H
#define DT_SESSION_SESSION_H

#include "session/options.h"
#include "session/results.h"

struct dt_session;

/* NULL: it can not be, and nothing is left of it. What the options point to is kept by the caller
 * until the session is closed. */
struct dt_session *dt_session_create(const struct dt_options *o, struct dt_error *e);

/* Begins recording: the rings are open, the recorder thread runs. */
int dt_session_record(struct dt_session *s, struct dt_error *e);

/* Stops recording, detaches every process, takes the last records. */
int dt_session_end(struct dt_session *s, struct dt_error *e);

/* Ends the recorder when it runs, closes the file, frees. r: what has become of it; may be NULL. */
int dt_session_close(struct dt_session *s, struct dt_results *r, struct dt_error *e);

/* Closes it, but nothing was traced: the file that was there before is there again. */
void dt_session_discard(struct dt_session *s);

/* A command has told it to end. */
bool dt_session_is_told_to_quit(const struct dt_session *s);
/* The recorder has given up: dt_session_end() says why. */
bool dt_session_is_broken(const struct dt_session *s);
/* Of one without a file: nothing has been recorded that nobody has read. */
bool dt_session_is_all_read(struct dt_session *s);

#endif
