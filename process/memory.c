/* SPDX-License-Identifier: MIT */
/* Reading and writing another process's memory. */
#include "process/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns Yama's ptrace_scope; 0: no restriction, or no Yama. */
static int yama_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &scope) != 1)
		scope = 0;
	fclose(f);
	return scope;
}

static bool is_zombie(pid_t pid)
{
	char path[64], line[256];
	const char *state;
	FILE *f;
	bool zombie = false;

	dt_format(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	/* the name, in parentheses, may contain anything */
	if (fgets(line, sizeof(line), f) && (state = strrchr(line, ')')) != NULL)
		zombie = state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
	fclose(f);
	return zombie;
}

bool dt_memory_gone(pid_t pid)
{
	char path[64];
	unsigned long pages = 1;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 1;
	fclose(f);
	return pages == 0;
}

int dt_memory_refused(pid_t pid, int errnum, struct dt_error *e)
{
	char path[64];
	struct stat st;
	int scope = yama_scope();

	dt_format(path, sizeof(path), "/proc/%d", pid);
	if (is_zombie(pid))
		return dt_fail(
			e, "process %d has ended; its parent has not taken notice yet (a zombie)",
			pid);
	if (errnum == ESRCH || stat(path, &st) < 0)
		return dt_fail(e, "there is no process %d", pid);
	if (dt_memory_gone(pid))
		return dt_fail(e, "process %d has ended, or is a thread of the kernel", pid);
	if (errnum != EPERM && errnum != EACCES)
		return dt_fail(e, "process %d can not be traced: %s", pid, strerror(errnum));
	if (geteuid() != 0 && st.st_uid != geteuid())
		return dt_fail(
			e, "process %d belongs to another user (uid %u): only root may trace it",
			pid, st.st_uid);
	if (scope > 0)
		return dt_fail(
			e,
			"process %d can not be attached to: Yama allows only %s here; start it "
			"under devtrace, or as root: echo 0 >/proc/sys/kernel/yama/ptrace_scope",
			pid, scope == 1 ? "one's own children" : "root");
	return dt_fail(e,
		       "process %d does not allow tracing (it is setuid, or has made itself not "
		       "dumpable, or another tracer holds it)",
		       pid);
}

int dt_memory_open(pid_t pid, struct dt_error *e)
{
	char path[64];
	int fd;

	dt_format(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return dt_memory_refused(pid, errno == ENOENT ? ESRCH : errno, e);
	return fd;
}

int dt_memory_read(int fd, uint64_t address, void *buf, size_t n)
{
	char *p = buf;

	while (n > 0) {
		ssize_t got = pread(fd, p, n, (off_t)address);

		if (got <= 0) {
			if (got < 0 && errno == EINTR)
				continue;
			return -1;
		}
		p += got, address += (uint64_t)got, n -= (size_t)got;
	}
	return 0;
}

int dt_memory_write(int fd, uint64_t address, const void *buf, size_t n)
{
	const char *p = buf;

	while (n > 0) {
		ssize_t put = pwrite(fd, p, n, (off_t)address);

		if (put <= 0) {
			if (put < 0 && errno == EINTR)
				continue;
			return -1;
		}
		p += put, address += (uint64_t)put, n -= (size_t)put;
	}
	return 0;
}
