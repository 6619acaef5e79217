/* SPDX-License-Identifier: MIT */
/*
 * A program that is brought to another host, is started there, and is removed when it has ended.
 * The command that starts it (remote/there.h) reads the program from its standard input. Nothing
 * else may be sent until the program has answered.
 */
#ifndef DT_REMOTE_PUSH_H
#define DT_REMOTE_PUSH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

struct dt_push {
	const char *bytes; /* of the program; NULL: there is none */
	size_t size;
};

/* Opens a program; path NULL: this one. Returns -1 and an error. */
int dt_push_open(struct dt_push *p, const char *path, struct dt_error *e);
void dt_push_close(struct dt_push *p);

/*
 * Appends to out + n the command for the other host's shell that takes the program and starts it,
 * and returns n and its length, as dt_there_quote(). The program's arguments are to follow. before:
 * a command that the program is started by, such as sudo; NULL: none.
 */
size_t dt_push_command(const struct dt_push *p, char *out, size_t n, size_t size,
		       const char *before);

/* Sends as much to fd as it takes now, from *sent on, and moves that. Returns -1 if the other side
 * has gone. */
int dt_push_send(const struct dt_push *p, int fd, size_t *sent);

#endif
