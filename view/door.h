/* SPDX-License-Identifier: MIT */
/*
 * The door of the pages: takes connections, and lets in those that begin with a request for the
 * right address. The others are answered here, wait here, and are sent away from here, however many
 * they are: none has a place among those that are served.
 */
#ifndef DT_VIEW_DOOR_H
#define DT_VIEW_DOOR_H

#include <stdbool.h>
#include <sys/socket.h>

#include "core/error.h"

#define DT_DOOR_WORD 32 /* bytes of the word in the address */

struct dt_door;

/* Both are called by a thread of the door's own. */
struct dt_doorman {
	/* Is this the word? What has come behind it is there too: '/', or the end of the address,
	 * which is '\0'. */
	bool (*knows)(const void *ctx, const char *word);
	/* The connection is his from now on; nothing has been read from it. */
	void (*admit)(void *ctx, int fd, const struct sockaddr *from, socklen_t n);
	void *ctx;
};

/* Listens there; nobody is looked at before dt_door_watch(). NULL: e is the system's reason alone.
 */
struct dt_door *dt_door_open(const struct sockaddr_storage *at, const struct dt_doorman *man,
			     struct dt_error *e);
/* 0, or the system's reason. */
int dt_door_watch(struct dt_door *d);
unsigned dt_door_port(const struct dt_door *d);
/* When this returns, nobody is admitted any more. */
void dt_door_close(struct dt_door *d);

#endif
