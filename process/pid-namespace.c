/* SPDX-License-Identifier: MIT */
/* Processes in other PID namespaces. /proc/PID/ns/pid tells a process's namespace, and "NSpid:" in
 * its status its number there. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "process/pid-namespace.h"

uint64_t dt_pid_namespace_of(pid_t pid)
{
	char path[64];
	struct stat st;

	dt_format(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

static uint64_t own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

pid_t dt_pid_inner(pid_t pid, pid_t tid)
{
	char path[64], line[512];
	pid_t inner = 0;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *last;

		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		last = strrchr(line, '\t'); /* the outermost namespace's number comes first */
		inner = last ? (pid_t)atoi(last + 1) : 0;
		break;
	}
	if (f)
		fclose(f);
	return inner;
}

pid_t dt_pid_outer_thread(pid_t pid, pid_t inner)
{
	char path[64];
	struct dirent *entry;
	pid_t found = 0;
	DIR *d;

	dt_format(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && !found && (entry = readdir(d)) != NULL) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid > 0 && dt_pid_inner(pid, tid) == inner)
			found = tid;
	}
	if (d)
		closedir(d);
	return found;
}

/* Returns the tag of the namespace with this inode and first process (0: not known); 0: it has none
 * yet. A namespace that has gone may have had the same inode: it is the same namespace only as long
 * as its first process lives. */
static uint32_t known(const struct dt_pid_namespaces *all, uint64_t inode, pid_t first)
{
	for (uint32_t i = 1; i < DT_TAGS; i++) {
		pid_t had = all->of[i].first;

		if (all->of[i].inode != inode)
			continue;
		if (!had || had == first || (!first && dt_pid_namespace_of(had) == inode))
			return i;
	}
	return 0;
}

/* Returns an unused tag; the last one if there is none. */
static uint32_t fresh(struct dt_pid_namespaces *all)
{
	for (uint32_t n = 1; n < DT_TAGS; n++) {
		uint32_t i = (all->last + n - 1) % (DT_TAGS - 1) + 1;

		if (!all->of[i].users)
			return all->last = i;
	}
	return DT_TAGS - 1;
}

uint32_t dt_pid_namespace_tag(struct dt_pid_namespaces *all, pid_t pid)
{
	uint64_t inode = dt_pid_namespace_of(pid);
	pid_t first;
	uint32_t i;

	if (!inode || inode == own_namespace())
		return 0;
	first = dt_pid_inner(pid, pid) == 1 ? pid : 0;
	i = known(all, inode, first);
	if (!i) {
		i = fresh(all);
		all->of[i].inode = inode;
		all->of[i].first = 0;
	}
	if (first)
		all->of[i].first = first;
	all->of[i].users++;
	return i << DT_TAG_SHIFT;
}

void dt_pid_namespace_leave(struct dt_pid_namespaces *all, uint32_t tag)
{
	if (tag)
		all->of[tag >> DT_TAG_SHIFT].users--;
}
