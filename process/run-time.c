/* SPDX-License-Identifier: MIT */
#include "process/run-time.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/pid-namespace.h"
#include "process/rights.h"

/*
 * Opens a file of the process's by its path there. The process may have put anything in its place:
 * a link, which is not followed, or a pipe, for which nothing waits. inode: it has to have that
 * number; 0: any.
 */
static int open_there(pid_t pid, const char *path, uint64_t inode)
{
	struct open_how how = {.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct dt_rights rights;
	struct stat st;
	char name[64];
	int root, file;

	dt_format(name, sizeof(name), "/proc/%d/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	file = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	close(root);
	if (file < 0)
		return -1;
	if (fstat(file, &st) == 0 && S_ISREG(st.st_mode) && (!inode || st.st_ino == inode) &&
	    dt_rights_of(pid, &rights) && (!st.st_uid || st.st_uid == rights.user[1]))
		return file;
	close(file);
	return -1;
}

int dt_run_time_map(pid_t pid)
{
	pid_t own = dt_pid_inner(pid, pid);
	char path[64];

	if (!own)
		return -1;
	dt_format(path, sizeof(path), "/tmp/perf-%d.map", own);
	return open_there(pid, path, 0);
}

int dt_run_time_dump(pid_t pid, const struct dt_maps *maps)
{
	pid_t own = dt_pid_inner(pid, pid);
	char name[64];

	dt_format(name, sizeof(name), "/jit-%d.dump", own);
	for (size_t i = 0; own && i < maps->n; i++) {
		const struct dt_mapping *m = &maps->map[i];
		const char *slash = strrchr(m->path, '/');
		int file = slash && m->inode && m->exec && !strcmp(slash, name)
				   ? open_there(pid, m->path, m->inode)
				   : -1;

		if (file >= 0)
			return file;
	}
	return -1;
}
