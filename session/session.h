/* SPDX-License-Identifier: MIT */
/*
 * A session: one set of rings, the processes that append to them, and a recorder that takes the
 * records into a trace file. Only session/ knows what it consists of (session/state.h).
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

/* Makes a session. Returns NULL and an error if there can be none; nothing is left of it then. The
 * caller keeps what the options point to until the session is closed. */
struct dt_session *dt_session_create(const struct dt_options *o, struct dt_error *e);

/* Begins recording: opens the rings and starts the recorder thread. */
int dt_session_record(struct dt_session *s, struct dt_error *e);

/* Stops recording, detaches every process, takes the last records. */
int dt_session_end(struct dt_session *s, struct dt_error *e);

/* Ends the recorder if it runs, closes the file, ends the server and frees the session. *r receives
 * what has become of it; r may be NULL. */
int dt_session_close(struct dt_session *s, struct dt_results *r, struct dt_error *e);

/* Closes a session in which nothing was traced: the trace file that was there before stays. */
void dt_session_discard(struct dt_session *s);

/* Tells whether a command has told the session to end. */
bool dt_session_is_told_to_quit(const struct dt_session *s);
/* Tells whether the recorder has given up; dt_session_end() says why. */
bool dt_session_is_broken(const struct dt_session *s);
/* Have all processes ended that only the kernel is recorded of (struct dt_options, pids)? */
bool dt_session_kernel_ended(const struct dt_session *s);
/* Tells whether clients have read all that a session without a file has recorded. */
bool dt_session_is_all_read(struct dt_session *s);

#endif
