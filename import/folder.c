/* SPDX-License-Identifier: MIT */
#include "import/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *dt_folder_open(const struct dt_folder *f, const char *name, bool *failed)
{
	struct stat st;
	FILE *file;
	/* O_NONBLOCK: a pipe nobody writes to would never be open */
	int fd = strchr(name, '/')
			 ? (errno = ENOENT, -1)
			 : openat(f->fd, name,
				  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	*failed = false;
	if (fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG))
		return NULL;
	*failed = true;
	if (fd < 0) {
		dt_fail(f->e, "%s/%s: %s", f->path, name, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		dt_fail(f->e, "%s/%s: it is no plain file", f->path, name);
		return NULL;
	}
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		dt_fail(f->e, "%s/%s: %s", f->path, name, strerror(errno));
		return NULL;
	}
	*failed = false;
	return file;
}
