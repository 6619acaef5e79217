/* SPDX-License-Identifier: MIT */
#include "process/passed.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union space {
	char bytes[CMSG_SPACE(DT_PASSED_MOST * sizeof(int))];
	struct cmsghdr align;
};

bool dt_passed_send(int socket, const void *bytes, size_t n, const int *fd, size_t fds)
{
	struct iovec text = {(void *)(uintptr_t)bytes, n};
	union space s = {.bytes = {0}};
	struct msghdr m = {.msg_iov = &text, .msg_iovlen = 1};
	ssize_t sent;

	if (fds > DT_PASSED_MOST)
		return false;
	if (fds) {
		struct cmsghdr *c;

		m.msg_control = s.bytes;
		m.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(c), fd, fds * sizeof(int));
	}
	while ((sent = sendmsg(socket, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return sent == (ssize_t)n;
}

ssize_t dt_passed_receive(int socket, void *bytes, size_t n, int *fd, size_t *fds)
{
	struct iovec text = {bytes, n};
	union space s;
	struct msghdr m = {.msg_iov = &text,
			   .msg_iovlen = 1,
			   .msg_control = s.bytes,
			   .msg_controllen = sizeof(s.bytes)};
	size_t room = *fds;
	ssize_t got;

	*fds = 0;
	while ((got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (got < 0)
		return -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		size_t came = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < came; i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(one));
			if (*fds < room)
				fd[(*fds)++] = one;
			else
				close(one);
		}
	}
	return got;
}
