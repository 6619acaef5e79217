/* SPDX-License-Identifier: MIT */
#include "session/kernel-only.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

static int add(struct dt_kernel_only *o, pid_t pid, struct dt_error *e)
{
	int fd;

	if (o->n == DT_KERNEL_ONLY_MOST)
		return dt_fail(e, "--pid: at most %u processes", DT_KERNEL_ONLY_MOST);
	fd = pidfd_open(pid, 0);
	if (fd < 0 && errno == ESRCH)
		return dt_fail(e, "--pid: there is no process %d", pid);
	if (fd < 0 && errno == EINVAL)
		return dt_fail(e, "--pid: %d is a thread: give its process", pid);
	if (fd < 0)
		return dt_fail(e, "--pid: process %d: %s", pid, strerror(errno));
	o->process[o->n].pid = pid;
	o->process[o->n++].fd = fd;
	return 0;
}

int dt_kernel_only_read(struct dt_kernel_only *o, const char *words, struct dt_error *e)
{
	const char *p = words;
	int rc = -1;

	*o = (struct dt_kernel_only){.n = 0};
	for (;; p++) {
		char *end;
		long pid = *p >= '0' && *p <= '9' ? strtol(p, &end, 10) : 0;

		if (pid < 1 || pid > 4194304 || (*end && *end != ',')) {
			dt_fail(e,
				"--pid: numbers of processes, with commas between them: not '%s'",
				words);
			break;
		}
		if (add(o, (pid_t)pid, e) < 0)
			break;
		p = end;
		if (!*p) {
			rc = 0;
			break;
		}
	}
	if (rc < 0)
		dt_kernel_only_free(o);
	return rc;
}

int dt_kernel_only_watch(const struct dt_kernel_only *o, struct dt_kernel *k, struct dt_error *e)
{
	for (unsigned i = 0; i < o->n; i++)
		if (dt_kernel_watch(k, o->process[i].pid, e) < 0)
			return -1;
	return 0;
}

bool dt_kernel_only_ended(const struct dt_kernel_only *o)
{
	for (unsigned i = 0; i < o->n; i++) {
		struct pollfd p = {.fd = o->process[i].fd, .events = POLLIN};

		if (poll(&p, 1, 0) == 0)
			return false;
	}
	return o->n > 0;
}

void dt_kernel_only_free(struct dt_kernel_only *o)
{
	while (o->n)
		close(o->process[--o->n].fd);
}
