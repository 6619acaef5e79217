/* SPDX-License-Identifier: MIT */
/*
 * The door of the page server: accepts connections, and admits those that begin with a request for
 * the right address. The others wait here, are refused here and are closed here, however many there
 * are: none of them takes up one of the server's connections.
 */
#ifndef DT_VIEW_DOOR_H
#define DT_VIEW_DOOR_H

#include <stdbool.h>
#include <sys/socket.h>

#include "core/error.h"

#define DT_DOOR_WORD 32 /* bytes of the word in the address */

struct dt_door;

/* What decides about connections. Both functions are called by a thread of the door's own. */
struct dt_doorman {
	/* Says whether this is the right word. word[DT_DOOR_WORD] is the character after it: '/',
	 * or '\0' where the address ends, or another one, which makes it wrong. */
	bool (*knows)(const void *ctx, const char *word);
	/* Takes over the connection fd; nothing has been read from it. */
	void (*admit)(void *ctx, int fd, const struct sockaddr *from, socklen_t n);
	void *ctx;
};

/* Listens at the address; connections are accepted from dt_door_watch() on. NULL: e is only the
 * system's reason. */
struct dt_door *dt_door_open(const struct sockaddr_storage *at, const struct dt_doorman *man,
			     struct dt_error *e);
/* Starts the door's thread. Returns 0, or an errno. */
int dt_door_watch(struct dt_door *d);
/* Returns the port that the door listens at. */
unsigned dt_door_port(const struct dt_door *d);
/* Ends the thread and closes all connections that were not admitted; none is admitted after this
 * returns. d may be NULL. */
void dt_door_close(struct dt_door *d);

#endif
