/* SPDX-License-Identifier: MIT */
#include "session/kernel-only.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "process/status.h"

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

/* Processes that are recorded. */
struct watched {
	pid_t *pid;
	size_t n, room;
};

static bool is_watched(const struct watched *w, pid_t pid)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->pid[i] == pid)
			return true;
	return false;
}

/* Has one more recorded. One that has just ended is none. */
static int watch(struct watched *w, struct dt_kernel *k, pid_t pid, struct dt_error *e)
{
	if (w->n == w->room) {
		size_t room = w->room ? 2 * w->room : DT_KERNEL_ONLY_MOST;
		pid_t *more = realloc(w->pid, room * sizeof(*more));

		if (!more)
			return dt_fail(e, "out of memory");
		w->pid = more;
		w->room = room;
	}
	if (dt_kernel_watch(k, pid, e) < 0 && (kill(pid, 0) == 0 || errno != ESRCH))
		return -1;
	w->pid[w->n++] = pid;
	return 0;
}

/* Has children recorded that are there by now, of processes that are. Those that are made meanwhile
 * are recorded as all children are, or found here. Returns how many, -1 and an error. */
static long watch_children(struct watched *w, struct dt_kernel *k, struct dt_error *e)
{
	DIR *d = opendir("/proc");
	struct dirent *one;
	long n = 0;

	if (!d)
		return dt_fail(e, "/proc: %s", strerror(errno));
	while (n >= 0 && (one = readdir(d))) {
		pid_t pid = (pid_t)strtol(one->d_name, NULL, 10), parent;

		if (pid < 1 || is_watched(w, pid))
			continue;
		parent = dt_status_parent(pid);
		if (parent > 0 && is_watched(w, parent))
			n = watch(w, k, pid, e) < 0 ? -1 : n + 1;
	}
	closedir(d);
	return n;
}

int dt_kernel_only_watch(const struct dt_kernel_only *o, struct dt_kernel *k, struct dt_error *e)
{
	struct watched w = {0};
	int rc = 0;
	long n = 1;

	for (unsigned i = 0; i < o->n && !rc; i++)
		rc = watch(&w, k, o->process[i].pid, e);
	while (!rc && w.n && n > 0)
		n = watch_children(&w, k, e);
	free(w.pid);
	return n < 0 ? -1 : rc;
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
