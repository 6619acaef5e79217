/* SPDX-License-Identifier: MIT */
/* The client's end: asks a server of traces, devtrace's own or bfscope, for traces. */
#ifndef DT_REMOTE_LINK_H
#define DT_REMOTE_LINK_H

#include <signal.h>
#include <sys/types.h>
#include "core/error.h"
#include "remote/making.h"

/* A connection to a server. */
struct dt_link {
	int in, out; /* for reading and for writing: one descriptor for both */
	pid_t ssh;   /* the process of ssh; 0: there is none */
	const char *address;
	const volatile sig_atomic_t
		*stop; /* when it is not 0, waits are given up; may be NULL. The signals that set it
			  must be blocked: they are let in while we wait */
	char data[16384]; /* bytes received and not used yet: data[at] to data[n - 1] */
	size_t n, at;
	bool ended; /* the other side has closed the connection */
};

/* How a server at ssh:HOST is started: `SSH HOST DEVTRACE serve --stdio ARGUMENT...' */
struct dt_link_ssh {
	const char *ssh, *devtrace;  /* commands; ssh may have options, since the shell splits it */
	const char *const *argument; /* what is to be served there; NULL ends the list */
};

/*
 * Connects to an address: ssh:HOST, or one for dt_address_connect(). Returns 0, or -1 and an error.
 * The address, ssh's arguments and `stop' remain the caller's, and must stay valid until the link
 * is closed.
 */
int dt_link_open(struct dt_link *l, const char *address, const struct dt_link_ssh *ssh,
		 const volatile sig_atomic_t *stop, struct dt_error *e);
/* Closes the connection, and ends ssh. */
void dt_link_close(struct dt_link *l);

/* Sends a request; several may be outstanding. Returns 0, or -1 and an error. */
int dt_link_ask(struct dt_link *l, enum dt_form form, struct dt_error *e);

/* What came of a request. */
enum dt_received {
	DT_RECEIVED,
	DT_REFUSED, /* the server says why not; the connection can still be used */
	DT_BROKEN,  /* the connection can not be used any more */
};

/* Receives the next answer and writes it to fd, an empty file; *bytes is always set to how many
 * bytes of it came. e says why unless DT_RECEIVED is returned. */
enum dt_received dt_link_receive(struct dt_link *l, enum dt_form form, int fd, uint64_t *bytes,
				 struct dt_error *e);

#endif
