/* SPDX-License-Identifier: MIT */
/* A traced process: what is known of it as a whole. */
#include "hook/target.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/target-work.h"
#include "process/memory.h"

/* Descriptors that are kept for everything else: the trace file and its journal, /proc, ELF files.
 */
#define SPARE_FILES 20

/* Looks whether a descriptor is one of the last that we may have; *most is the limit then. */
static bool is_scarce(int fd, rlim_t *most)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*most = limit.rlim_cur;
	return (rlim_t)fd + SPARE_FILES >= limit.rlim_cur;
}

struct dt_target *dt_target_open(pid_t pid, struct dt_error *e)
{
	rlim_t most = 0;
	struct dt_target *t = calloc(1, sizeof(*t));

	if (!t) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	t->pid = pid;
	t->mem = dt_memory_open(pid, e);
	if (t->mem < 0) {
		free(t);
		return NULL;
	}
	if (is_scarce(t->mem, &most)) {
		dt_fail(e,
			"too many processes at once for the %lu files that may be open (ulimit -n)",
			(unsigned long)most);
		close(t->mem);
		free(t);
		return NULL;
	}
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return t;
}

void dt_target_end(struct dt_target *t)
{
	t->ended = true;
	if (t->namespaces)
		dt_pid_namespace_leave(t->namespaces, t->tag);
	close(t->mem);
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->mem = t->pidfd = -1;
}

bool dt_target_gone(const struct dt_target *t)
{
	struct pollfd p = {t->pidfd, POLLIN, 0};

	return t->pidfd < 0 ? kill(t->pid, 0) < 0 : poll(&p, 1, 0) > 0;
}

size_t dt_target_sites(const struct dt_target *t, size_t *all)
{
	size_t chosen = 0;

	*all = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct dt_file *f = t->module[i].file;

		if (f->elf)
			*all += f->elf->sites - dt_file_go_sites(f, false) + f->unmeant;
		chosen += f->chosen_sites;
	}
	return chosen;
}

bool dt_target_has_go(const struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (dt_file_go_sites(t->module[i].file, false))
			return true;
	return false;
}

int dt_target_any(const struct dt_target *t, struct dt_error *e)
{
	const char *why = NULL;

	for (size_t i = 0; i < t->n; i++) {
		if (t->module[i].complete)
			return 0;
		if (t->module[i].failed && !why)
			why = t->module[i].why;
	}
	return why ? dt_fail(e, "%s", why) : 0;
}

bool dt_target_in_code(const struct dt_target *t, uint64_t address)
{
	uint64_t low, high;

	for (unsigned i = 0; dt_area_code(t->geometry, t->area, i, &low, &high); i++)
		if (address >= low && address < high)
			return true;
	return false;
}

struct seccomp {
	int mode;	  /* 0: none, 1: strict, 2: filters */
	unsigned filters; /* how many */
};

/* Reads a thread's seccomp state from /proc; 0, 0 if that can not be read. */
static struct seccomp seccomp_of(pid_t pid, pid_t tid)
{
	struct seccomp s = {0, 0};
	char path[64], line[128];
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %d", &s.mode) != 1 &&
		    sscanf(line, "Seccomp_filters: %u", &s.filters) == 1)
			break;
	if (f)
		fclose(f);
	return s;
}

/* Looks whether a thread is confined by seccomp in another way than ourselves: what holds for us
 * too, as in a container, is no obstacle. */
static bool is_more_confined(pid_t pid, pid_t tid)
{
	static struct seccomp own = {.mode = -1};
	struct seccomp s = seccomp_of(pid, tid);

	if (own.mode < 0)
		own = seccomp_of(getpid(), getpid());
	return s.mode != own.mode || s.filters > own.filters;
}

bool dt_target_confined(const struct dt_target *t)
{
	return is_more_confined(t->pid, t->pid);
}

bool dt_target_any_confined(const struct dt_target *t)
{
	char path[64];
	struct dirent *entry;
	bool any = false;
	DIR *d;

	dt_format(path, sizeof(path), "/proc/%d/task", t->pid);
	d = opendir(path);
	while (d && !any && (entry = readdir(d)) != NULL) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		any = tid > 0 && is_more_confined(t->pid, tid);
	}
	if (d)
		closedir(d);
	return any;
}

void dt_target_confine(struct dt_target *t)
{
	uint64_t one = 1;

	if (t->area && dt_memory_write(t->mem, t->area + offsetof(struct dt_blob, confined), &one,
				       sizeof(one)) == 0)
		t->confined = true;
}

bool dt_same_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}
