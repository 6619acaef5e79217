/* SPDX-License-Identifier: MIT */
#include "process/status.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"

/* Reads what stands after NAME and a colon as the format says; false: it has gone, or is not so. */
static bool read_line(pid_t tid, const char *name, const char *format, void *to)
{
	char path[64], line[128];
	size_t length = strlen(name);
	bool found = false;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strncmp(line, name, length) == 0 && sscanf(line + length, format, to) == 1;
	if (f)
		fclose(f);
	return found;
}

bool dt_status_number(pid_t tid, const char *name, unsigned *n)
{
	return read_line(tid, name, ": %u", n);
}

bool dt_status_stopped(pid_t pid)
{
	char state;

	return read_line(pid, "State", ": %c", &state) && state == 'T';
}

pid_t dt_status_parent(pid_t pid)
{
	unsigned parent;

	return dt_status_number(pid, "PPid", &parent) ? (pid_t)parent : 0;
}

/* Reads a field of /proc/PID/stat. Returns 1; 0: it is no number; -1: the process has gone. */
static int read_field(pid_t pid, int wanted, unsigned long long *v)
{
	char path[64], text[1024], *p;
	int file;
	ssize_t n;

	dt_format(path, sizeof(path), "/proc/%d/stat", pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	n = read(file, text, sizeof(text) - 1);
	close(file);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the end of field 2, a name that may contain anything */
	for (int field = 2; p && field < wanted; field++)
		p = strchr(p + 1, ' ');
	return p && sscanf(p, "%llu", v) == 1;
}

uint64_t dt_status_made(pid_t pid)
{
	unsigned long long made;
	int rc = read_field(pid, 22, &made);

	return rc < 0 ? 0 : rc ? made : UINT64_MAX;
}

uint64_t dt_status_own(pid_t pid)
{
	struct timespec own;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &own))
		return 0;
	return (uint64_t)own.tv_sec * 1000000000u + (uint64_t)own.tv_nsec;
}

bool dt_status_memory(pid_t pid, uint64_t *bytes)
{
	char path[64], text[4096], *own, *files;
	int file;
	ssize_t n;

	dt_format(path, sizeof(path), "/proc/%d/status", pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	n = read(file, text, sizeof(text) - 1);
	close(file);
	text[n > 0 ? n : 0] = '\0';
	/* a name can have no newline here: the kernel writes \\n */
	own = strstr(text, "\nRssAnon:");
	files = strstr(text, "\nRssFile:");
	if (!own || !files)
		return false;
	*bytes = (strtoull(own + 9, NULL, 10) + strtoull(files + 9, NULL, 10)) * 1024;
	return true;
}

uint64_t dt_status_taken(pid_t pid)
{
	const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long user = 0, system = 0;
	/* the process's own to the ns, its children's in ticks only */
	uint64_t own = dt_status_own(pid);

	if (!own)
		return 0;
	if (read_field(pid, 16, &user) != 1 || read_field(pid, 17, &system) != 1)
		user = system = 0;
	return own + (user + system) * (1000000000u / per_second);
}

uint64_t dt_status_stack(pid_t pid)
{
	unsigned long long end;

	return read_field(pid, 28, &end) == 1 ? end : 0;
}

uint64_t dt_status_now(void)
{
	const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now;

	/* not by libc, which may read the cycle counter: that may be forbidden (PR_SET_TSC) */
	syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * per_second +
	       (uint64_t)now.tv_nsec / (1000000000 / per_second);
}

int dt_status_secure(pid_t pid)
{
	unsigned long pair[2];
	char path[64];
	int secure = -1;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/auxv", pid);
	f = fopen(path, "re");
	while (f && secure < 0 && fread(pair, sizeof(pair), 1, f) == 1 && pair[0] != AT_NULL)
		if (pair[0] == AT_SECURE)
			secure = pair[1] != 0;
	if (f)
		fclose(f);
	return secure;
}
