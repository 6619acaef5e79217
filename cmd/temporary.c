/* SPDX-License-Identifier: MIT */
#include "cmd/temporary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/words.h"
#include "process/outside.h"

int dt_temporary_make(struct dt_temporary *t, struct dt_error *e)
{
	const char *base = getenv("TMPDIR");

	t->folder[0] = '\0';
	if (dt_format(t->path, sizeof(t->path), "%s/devtrace-view.XXXXXX",
		      base && *base ? base : "/tmp") >= sizeof(t->folder))
		return dt_fail(e, "TMPDIR is too long");
	if (!mkdtemp(t->path))
		return dt_fail(e, "%s: cannot create: %s", t->path, strerror(errno));
	memcpy(t->folder, t->path, strlen(t->path) + 1);
	dt_format(t->path, sizeof(t->path), "%s/trace.db", t->folder);
	return 0;
}

void dt_temporary_remove(struct dt_temporary *t)
{
	static const char *const more[] = {"", "-wal", "-shm", "-journal"};
	char path[sizeof(t->path) + 16];

	if (!t->folder[0])
		return;
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		dt_format(path, sizeof(path), "%s%s", t->path, more[i]);
		unlink(path);
	}
	dt_outside_remove(t->folder);
	t->folder[0] = '\0';
}
