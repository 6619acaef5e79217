/* SPDX-License-Identifier: MIT */
/* Fetching for view --from. */
#include "cmd/fetched.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/open.h"

/* Becomes `devtrace fetch', in a child: that command handles signals and exits in its own way. */
static void run_fetch(const struct dt_fetched *f, const sigset_t *signals)
{
	char *args[DT_FETCHED_WORDS + 5] = {"devtrace", "fetch", "-o", (char *)f->trace.path};

	for (size_t i = 0; i < f->words; i++)
		args[4 + i] = (char *)f->word[i];
	sigprocmask(SIG_SETMASK, signals, NULL);
	execv("/proc/self/exe", args);
	_exit(dt_cmd_fail("fetch can not be started: %s", strerror(errno)));
}

int dt_fetched_get(struct dt_fetched *f)
{
	sigset_t block, before;
	struct dt_error e;
	int status = 0;
	pid_t pid;

	/* Ctrl-C reaches both processes: fetch cleans up, and this one takes it at the very end */
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	if (dt_temporary_make(&f->trace, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	pid = fork();
	if (pid == 0)
		run_fetch(f, &before);
	if (pid < 0)
		status = dt_cmd_fail("fetch can not be started: %s", strerror(errno));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0)
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return status;
}
