/* SPDX-License-Identifier: MIT */
/*
 * Sessions as files: a directory that shows every living session of this user, each with
 *
 *	ctl         reading takes a snapshot; what is written is obeyed before write(2) returns
 *	trace       the records as lines of 121 bytes, consumed; the end of the file when there is
 *none trace.wait  the same, but a read waits for a record; the end of the file when the session
 *ends
 *
 * and a file `log' with what went wrong lately. The files are served by a process of their own,
 * which talks to the sessions through their sockets: it holds nothing that a session or a traced
 * program waits for.
 */
#ifndef DT_SESSION_MOUNT_H
#define DT_SESSION_MOUNT_H

#include "core/error.h"

struct dt_mount;

/* Makes the files appear at directory, an absolute path. */
struct dt_mount *dt_mount_new(const char *directory, struct dt_error *e);

/* Serves them until a signal (HUP, INT, TERM) or an unmount. aloud: the log goes to stderr too.
 * ready: is closed when sessions find the files by the link to them; -1: nobody waits for that. */
int dt_mount_serve(struct dt_mount *m, bool aloud, int ready, struct dt_error *e);

/* Unmounts and frees. */
void dt_mount_free(struct dt_mount *m);

/*
 * The path of a session's ctl in this user's mount, if one is there. False: none is.
 * What a traced program finds as DEVTRACE_CTL.
 */
bool dt_mount_ctl(const char *session, char *path, size_t size);

#endif
