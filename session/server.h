/* SPDX-License-Identifier: MIT */
/*
 * How a session is reached: a Unix-domain socket, mode 0600, in a directory of its user's own.
 * doc/protocol.md describes what is said there. One thread accepts, one serves each connection.
 */
#ifndef DT_SESSION_SERVER_H
#define DT_SESSION_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

struct dt_server;
struct dt_session;

/* Where this user's sessions are: "/run/user/1000/devtrace" or "/tmp/devtrace-1000". */
int dt_sessions_directory(char *path, size_t size, bool make, struct dt_error *e);

/* Makes the socket and begins to serve. name: NULL: the process id. */
int dt_server_start(struct dt_session *s, const char *name, struct dt_error *e);
/* Nothing is asked any more, the name is free. Who has said quit goes on waiting until the session
 * is closed. */
void dt_server_stop(struct dt_session *s);
/* The session is closed: who has said quit is told that it is done. May be NULL. */
void dt_server_free(struct dt_server *v);
const char *dt_server_name(const struct dt_session *s);

#endif
