/* SPDX-License-Identifier: MIT */
/*
 * The address of a server of traces as a user writes it: HOST:PORT, HOST, [::1]:PORT, or unix:PATH.
 * A socket at a path has mode 0600, so only this user and root can connect to it. At a port
 * everybody who can connect can ask.
 */
#ifndef DT_REMOTE_ADDRESS_H
#define DT_REMOTE_ADDRESS_H

#include "core/error.h"

#define DT_ADDRESS_PORT "6666" /* bfscope's since 2013; the default for connecting */

/* A socket that listens for clients. */
struct dt_listener {
	int fd;
	char address[256]; /* as clients can give it, with the port that was chosen */
	char path[108];	   /* of a unix: socket, removed by dt_address_close(); "": there is none */
};

/* Listens at an address; NULL: 127.0.0.1. Without a port, or with port 0, it chooses one that is
 * free. Returns 0, or -1 and an error. */
int dt_address_listen(struct dt_listener *l, const char *address, struct dt_error *e);
/* Closes the listener and removes its socket's path. */
void dt_address_close(struct dt_listener *l);

/* Returns a socket connected to the address, or -1 and an error. */
int dt_address_connect(const char *address, struct dt_error *e);

#endif
