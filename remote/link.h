/* SPDX-License-Identifier: MIT */
/* The client's end: asking a server of traces, devtrace's or bfscope, for traces. */
#ifndef DT_REMOTE_LINK_H
#define DT_REMOTE_LINK_H

#include <signal.h>
#include <sys/types.h>
#include "core/error.h"
#include "remote/making.h"

struct dt_link {
	int in, out;
	pid_t ssh; /* 0: none */
	const char *address;
	const volatile sig_atomic_t
		*stop;	  /* not 0: give up. Its signals are blocked outside of waits */
	char data[16384]; /* what came behind what was asked for so far */
	size_t n, at;
	bool ended; /* the other side has, in order */
};

/* How ssh:HOST is reached: `SSH HOST DEVTRACE serve --stdio ARGUMENT...' */
struct dt_link_ssh {
	const char *ssh, *devtrace;  /* commands; ssh is given to the shell, with its options */
	const char *const *argument; /* what is to be served there, NULL behind the last */
};

/*
 * address: as dt_address_connect() has it, or ssh:HOST. The address, ssh's arguments and stop are
 * the caller's as long as the link is open.
 */
int dt_link_open(struct dt_link *l, const char *address, const struct dt_link_ssh *ssh,
		 const volatile sig_atomic_t *stop, struct dt_error *e);
void dt_link_close(struct dt_link *l);

/* A request; several may be outstanding. */
int dt_link_ask(struct dt_link *l, enum dt_form form, struct dt_error *e);

enum dt_received {
	DT_RECEIVED,
	DT_REFUSED, /* the server says why; the connection can be used on */
	DT_BROKEN,  /* it can not */
};

/* The next answer, to fd. *bytes: how many of it came, in any case. */
enum dt_received dt_link_receive(struct dt_link *l, enum dt_form form, int fd, uint64_t *bytes,
				 struct dt_error *e);

#endif
