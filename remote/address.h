/* SPDX-License-Identifier: MIT */
/*
 * Where a server of traces is, as a user writes it: HOST:PORT, HOST, [::1]:PORT, or unix:PATH. A
 * socket at a path has mode 0600: this user's alone, and root's. At a port whoever can connect can
 * ask.
 */
#ifndef DT_REMOTE_ADDRESS_H
#define DT_REMOTE_ADDRESS_H

#include "core/error.h"

#define DT_ADDRESS_PORT "6666" /* bfscope's since 2013; where no port is said to connect to */

struct dt_listener {
	int fd;
	char address[256]; /* for clients: with the port that was chosen */
	char path[108];	   /* of the socket, removed by dt_address_close(); "": none */
};

/* address NULL: 127.0.0.1. Without a port, or port 0, any that is free. */
int dt_address_listen(struct dt_listener *l, const char *address, struct dt_error *e);
void dt_address_close(struct dt_listener *l);

/* A connected socket; -1 and an error. */
int dt_address_connect(const char *address, struct dt_error *e);

#endif
