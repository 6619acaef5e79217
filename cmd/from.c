/* SPDX-License-Identifier: MIT */
/* Fetching for view --from. */
#include "cmd/from.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/open.h"
#include "core/words.h"

/* In a process of its own: it has signals and an end of its own. */
static void run_fetch(const struct dt_from *f, const sigset_t *signals)
{
	char *args[DT_FROM_WORDS + 5] = {"devtrace", "fetch", "-o", (char *)f->path};

	for (size_t i = 0; i < f->words; i++)
		args[4 + i] = (char *)f->word[i];
	sigprocmask(SIG_SETMASK, signals, NULL);
	execv("/proc/self/exe", args);
	_exit(dt_cmd_fail("view: fetch can not be started: %s", strerror(errno)));
}

int dt_from_fetch(struct dt_from *f)
{
	const char *base = getenv("TMPDIR");
	sigset_t block, before;
	int status = 0;
	pid_t pid;

	f->folder[0] = '\0';
	if (dt_format(f->path, sizeof(f->path), "%s/devtrace-view.XXXXXX",
		      base && *base ? base : "/tmp") >= sizeof(f->folder))
		return dt_cmd_fail("view: TMPDIR is too long");
	if (!mkdtemp(f->path))
		return dt_cmd_fail("view: %s: cannot create: %s", f->path, strerror(errno));
	memcpy(f->folder, f->path, strlen(f->path) + 1);
	dt_format(f->path, sizeof(f->path), "%s/trace.db", f->folder);
	/* Ctrl-C is for both: fetch ends in order, and we see it when the folder is gone */
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	pid = fork();
	if (pid == 0)
		run_fetch(f, &before);
	if (pid < 0)
		status = dt_cmd_fail("view: fetch can not be started: %s", strerror(errno));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0)
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return status;
}

void dt_from_remove(struct dt_from *f)
{
	static const char *const more[] = {"", "-wal", "-shm", "-journal"};
	char path[sizeof(f->path) + 16];

	if (!f->folder[0])
		return;
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		dt_format(path, sizeof(path), "%s%s", f->path, more[i]);
		unlink(path);
	}
	rmdir(f->folder);
	f->folder[0] = '\0';
}
