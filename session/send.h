/* SPDX-License-Identifier: MIT */
/* Sending on a session's socket, for both of its ends. */
#ifndef DT_SESSION_SEND_H
#define DT_SESSION_SEND_H

#include <stddef.h>

/* Sends all n bytes; returns 0, or -1 when the other end has gone. */
int dt_send_all(int fd, const void *data, size_t n);

#endif
