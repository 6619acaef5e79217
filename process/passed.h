/* SPDX-License-Identifier: MIT */
/* Messages of a Unix socket that pass open files on. */
#ifndef DT_PROCESS_PASSED_H
#define DT_PROCESS_PASSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DT_PASSED_MOST 16 /* descriptors in a message, at most */

/* Sends n bytes, and descriptors with them, as one message. False: it could not be sent. */
bool dt_passed_send(int socket, const void *bytes, size_t n, const int *fd, size_t fds);

/*
 * Receives a message of at most n bytes, with at most *fds descriptors, which are closed on exec:
 * further ones are closed. *fds becomes how many came. Returns how many bytes came; 0: there are no
 * more messages; -1: error.
 */
ssize_t dt_passed_receive(int socket, void *bytes, size_t n, int *fd, size_t *fds);

#endif
