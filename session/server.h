/* SPDX-License-Identifier: MIT */
/*
 * The server's end of a session's socket, by which other programs reach it: a Unix-domain socket
 * with mode 0600, in a directory of its user's own. doc/protocol.md describes what is said there.
 * One thread accepts connections; each connection has a thread that serves it.
 */
#ifndef DT_SESSION_SERVER_H
#define DT_SESSION_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

struct dt_server;
struct dt_session;

/*
 * Writes the directory of this user's sessions, "/run/user/1000/devtrace" or "/tmp/devtrace-1000".
 * make: makes it when it is missing. Returns 0; -1 and an error; -1 without an error when it is
 * missing and not to be made.
 */
int dt_sessions_directory(char *path, size_t size, bool make, struct dt_error *e);

/* Makes the socket and begins to serve. The session's name is `name', or our process id when that
 * is NULL. Returns 0, or -1 and an error. */
int dt_server_start(struct dt_session *s, const char *name, struct dt_error *e);
/* Stops serving: connections are closed. The name stays taken until dt_server_free(): a session
 * that is gone by its name has written its file to the end. Who connects meanwhile, and a client
 * that has said quit, wait until then. Owner thread, without the lock. */
void dt_server_stop(struct dt_session *s);
/* Gives up the name, closes the connections of clients that wait, which tells them that the session
 * is closed, and frees v, which may be NULL. */
void dt_server_free(struct dt_server *v);
/* Returns the session's name; "": it has no socket. */
const char *dt_server_name(const struct dt_session *s);

#endif
