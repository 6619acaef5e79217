/* SPDX-License-Identifier: MIT */
/* Sending on a session's socket. */
#include "session/send.h"

#include <errno.h>
#include <sys/socket.h>

int dt_send_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		p += sent;
		n -= (size_t)sent;
	}
	return 0;
}
