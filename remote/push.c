/* SPDX-License-Identifier: MIT */
#include "remote/push.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/there.h"

int dt_push_open(struct dt_push *p, const char *path, struct dt_error *e)
{
	/* a fifo without a writer is not waited for */
	int fd = open(path ? path : "/proc/self/exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *bytes;

	*p = (struct dt_push){NULL, 0};
	if (fd < 0 || fstat(fd, &st))
		goto fail;
	if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		close(fd);
		return dt_fail(e, "%s is no program", path ? path : "this program's file");
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		goto fail;
	close(fd);
	*p = (struct dt_push){bytes, (size_t)st.st_size};
	return 0;
fail:
	dt_fail(e, "%s: %s", path ? path : "this program's file", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

void dt_push_close(struct dt_push *p)
{
	if (p->bytes)
		munmap((void *)(uintptr_t)p->bytes, p->size);
	p->bytes = NULL;
}

/*
 * $1: bytes of the program, $2: the command that it is started by. A folder that only this user may
 * look into, in which programs may be executed, is looked for; it goes when the program has ended.
 * head(1) takes no more than it is to: nothing else comes before the program has answered.
 */
static const char script[] =
	"size=$1 before=$2; shift 2; umask 077; d=\n"
	"for t in \"${TMPDIR:-/tmp}\" /var/tmp /dev/shm \"$HOME\"; do\n"
	"	d=$(mktemp -d \"$t/devtrace-XXXXXX\" 2>/dev/null) || continue\n"
	"	printf \"#!/bin/sh\\n\" >\"$d/devtrace\" && chmod 700 \"$d/devtrace\" && \"$d/devtrace\" 2>/dev/null && break\n"
	"	rm -rf \"$d\"; d=\n"
	"done\n"
	"[ \"$d\" ] || { echo \"there is no folder in which programs may be executed: TMPDIR can name one\" >&2; exit 1; }\n"
	"trap \"rm -rf \\\"\\$d\\\"\" EXIT; trap : HUP INT TERM\n"
	"head -c \"$size\" >\"$d/devtrace\" && [ \"$(wc -c <\"$d/devtrace\")\" -eq \"$size\" ] || { echo \"the program has not come whole\" >&2; exit 1; }\n"
	"$before \"$d/devtrace\" \"$@\"\n";

size_t dt_push_command(const struct dt_push *p, char *out, size_t n, size_t size,
		       const char *before)
{
	char number[24];

	if (n < size)
		dt_format(out + n, size - n, "exec sh -c");
	n += strlen("exec sh -c");
	n = dt_there_quote(out, n, size, script);
	n = dt_there_quote(out, n, size, "devtrace");
	dt_format(number, sizeof(number), "%zu", p->size);
	n = dt_there_quote(out, n, size, number);
	return dt_there_quote(out, n, size, before ? before : "");
}

int dt_push_send(const struct dt_push *p, int fd, size_t *sent)
{
	while (*sent < p->size) {
		ssize_t n =
			send(fd, p->bytes + *sent, p->size - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n <= 0)
			return -1;
		*sent += (size_t)n;
	}
	return 0;
}
