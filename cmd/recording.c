/* SPDX-License-Identifier: MIT */
#include "cmd/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/open.h"

void dt_recording_signals(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < 4; i++)
		sigaddset(set, (int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT}[i]);
}

/* Becomes `devtrace attach', in a child. */
static void run_attach(struct dt_recording *k, pid_t parent)
{
	int fd = open(k->said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		_exit(dt_cmd_fail("%s: cannot write what attach says: %s", k->said,
				  strerror(errno)));
	/* a process group of its own: Ctrl-C is for the table, which then ends this */
	setpgid(0, 0);
	/* SIGINT ends it at any time, also when this command was started with it ignored */
	signal(SIGINT, SIG_DFL);
	sigdelset(&k->signals, SIGINT);
	sigprocmask(SIG_SETMASK, &k->signals, NULL);
	/* a parent that is killed can not end it: it would record without limit */
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != parent)
		_exit(1);
	execv("/proc/self/exe", (char **)k->word);
	_exit(dt_cmd_fail("attach can not be started: %s", strerror(errno)));
}

/* Prints what attach has said. */
static void tell(const struct dt_recording *k)
{
	char text[4096];
	size_t n;
	FILE *f = fopen(k->said, "re");

	while (f && (n = fread(text, 1, sizeof(text), f)) > 0)
		fwrite(text, 1, n, stderr);
	if (f)
		fclose(f);
}

bool dt_recording_is_asked_to_end(void)
{
	sigset_t ends, pending;

	dt_recording_signals(&ends);
	sigpending(&pending);
	return sigandset(&pending, &pending, &ends) == 0 && !sigisemptyset(&pending);
}

int dt_recording_wait(const struct dt_recording *k)
{
	char log[sizeof(k->trace.path) + 8];
	struct stat st;

	dt_format(log, sizeof(log), "%s-wal", k->trace.path);
	while (stat(k->trace.path, &st) < 0 || stat(log, &st) < 0)
		if (dt_recording_is_asked_to_end() ||
		    poll(&(struct pollfd){k->pidfd, POLLIN, 0}, 1, 50))
			return -1;
	return 0;
}

int dt_recording_make(struct dt_recording *k, const char *name, const char *pid)
{
	struct dt_error e;
	sigset_t block;

	/* what ends this process must not leave the folder behind, or the process attached */
	dt_recording_signals(&block);
	sigprocmask(SIG_BLOCK, &block, &k->signals);
	/* where it is ignored, nothing tells how a child has ended */
	signal(SIGCHLD, SIG_DFL);
	if (dt_temporary_make(&k->trace, &e) < 0) {
		sigprocmask(SIG_SETMASK, &k->signals, NULL);
		dt_cmd_fail("%s: %s", name, e.text);
		return -1;
	}
	dt_format(k->said, sizeof(k->said), "%s/said", k->trace.folder);
	k->word[k->words++] = "-o";
	k->word[k->words++] = k->trace.path;
	k->word[k->words++] = "--";
	k->word[k->words++] = pid;
	return 0;
}

int dt_recording_start(struct dt_recording *k)
{
	pid_t parent = getpid();

	k->pid = fork();
	if (k->pid == 0)
		run_attach(k, parent);
	if (k->pid < 0) {
		dt_cmd_fail("cannot fork: %s", strerror(errno));
		return -1;
	}
	k->pidfd = pidfd_open(k->pid, 0);
	if (k->pidfd >= 0)
		return 0;
	dt_cmd_fail("attach can not be watched: %s", strerror(errno));
	dt_recording_end(k);
	return -1;
}

int dt_recording_end(struct dt_recording *k)
{
	int status = 0;

	kill(k->pid, SIGINT);
	while (waitpid(k->pid, &status, 0) < 0 && errno == EINTR)
		;
	tell(k);
	if (k->pidfd >= 0)
		close(k->pidfd);
	k->pidfd = -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void dt_recording_remove(struct dt_recording *k)
{
	unlink(k->said);
	dt_temporary_remove(&k->trace);
	sigprocmask(SIG_SETMASK, &k->signals, NULL);
}
