/* SPDX-License-Identifier: MIT */
/* Sending to the other end of a session's socket, whichever that is. */
#ifndef DT_SESSION_SEND_H
#define DT_SESSION_SEND_H

#include <stddef.h>

/* All n bytes, or -1: the other end has gone. */
int dt_send_all(int fd, const void *data, size_t n);

#endif
