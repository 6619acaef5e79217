/* SPDX-License-Identifier: MIT */
/*
 * Sessions as files: a directory that shows every living session of this user. Each is a directory
 * with
 *
 *	ctl         reading takes a snapshot; commands written are obeyed before write(2) returns
 *	trace       the records, as lines of 121 bytes, which are consumed; the file ends when
 *	            there is none
 *	trace.wait  the same lines, but a read waits for a record; the file ends with the session
 *
 * A file `log' beside them says what went wrong lately. The files are served by a process of their
 * own, which talks to the sessions through their sockets: it holds nothing that a session or a
 * traced program waits for.
 */
#ifndef DT_SESSION_MOUNT_H
#define DT_SESSION_MOUNT_H

#include "core/error.h"

struct dt_mount;

/* Mounts the files at directory, an absolute path, which is made if it does not exist. Returns NULL
 * and an error when that fails. */
struct dt_mount *dt_mount_new(const char *directory, struct dt_error *e);

/*
 * Serves the files until a signal (HUP, INT, TERM) or an unmount. aloud: the log goes to stderr
 * too. ready: a descriptor that is closed when sessions can find the files by the link to them; -1:
 * nobody waits for that. Returns 0, or -1 and an error.
 */
int dt_mount_serve(struct dt_mount *m, bool aloud, int ready, struct dt_error *e);

/* Unmounts the files and frees m. */
void dt_mount_free(struct dt_mount *m);

/* Writes the path of a session's ctl in this user's mount, which traced programs find as
 * DEVTRACE_CTL. False: no such file is there. */
bool dt_mount_ctl(const char *session, char *path, size_t size);

#endif
