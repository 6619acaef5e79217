/* SPDX-License-Identifier: MIT */
/* Commands on other hosts: started by ssh, or by any other command that can run one there. */
#ifndef DT_REMOTE_THERE_H
#define DT_REMOTE_THERE_H

#include <sys/types.h>

#include "core/error.h"

/* Appends a blank and the word, quoted for a shell, at out + n; returns n and how many bytes that
 * needs, which may be more than fit into size. */
size_t dt_there_quote(char *out, size_t n, size_t size, const char *word);

/* A command that runs on another host. */
struct dt_there {
	pid_t pid; /* of the command here that has started it; 0: none */
	int fd;	   /* its standard input and output: a socket, non-blocking; -1: none */
	int said;  /* its standard error: a pipe, non-blocking; -1: none */
};

/*
 * Starts a command on a host. by: the command that does so, for the shell: each %h in it becomes
 * the host; without %h the host is put behind it, but not behind a shell's -c. `there', one string
 * for the shell of the other host, follows as its last word. Returns 0, or -1 and an error.
 */
int dt_there_start(struct dt_there *t, const char *by, const char *host, const char *there,
		   struct dt_error *e);
/* Closes what is open, ends the command here, if it has not ended, and returns its exit status as
 * shells have it. */
int dt_there_end(struct dt_there *t);

#endif
