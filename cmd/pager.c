/* SPDX-License-Identifier: MIT */
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/open.h"
#include "process/launch.h"

static volatile sig_atomic_t command; /* the process that goes on with the command */

/* Of the command, -1 where there is no pager: the terminal, and the end of a pipe whose other end
 * is only the pager's process, and is closed when it executes the pager. */
static int terminal = -1, begun = -1;

/* Passes a signal on to the command, at whose end the pager reaches the end, too. */
static void pass_on(int number)
{
	if (command > 0)
		kill((pid_t)command, number);
}

static bool has_less(void)
{
	char *path = dt_launch_search("less");

	free(path);
	return path != NULL;
}

/* Returns the pager, words for a shell; NULL: there is none. */
static const char *find(void)
{
	const char *words = getenv("DEVTRACE_PAGER");

	if (!words)
		words = getenv("PAGER");
	if (!words)
		return has_less() ? "less" : NULL;
	return !words[strspn(words, " \t")] || !strcmp(words, "cat") ? NULL : words;
}

static bool has_come(int fd, int timeout)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n;

	do
		n = poll(&p, 1, timeout);
	while (n < 0 && errno == EINTR);
	return n != 0;
}

static void run(const char *words, int from)
{
	has_come(from, -1);
	dup2(from, STDIN_FILENO);
	/* -F: not if all fits on the screen; -R: with colours; -X: what was read stays there */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", words, (char *)NULL);
	_exit(127);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

/* Waits for the command and the pager; ends as the command has. */
static void attend(pid_t pid, pid_t pager, const char *words)
{
	static const int to_all[] = {SIGINT, SIGQUIT}, to_this[] = {SIGTERM, SIGHUP};
	struct sigaction pass = {.sa_handler = pass_on};
	int status, shown;
	sigset_t all;

	command = pid;
	/* the terminal sends these to all; a pager takes them for keys */
	for (size_t i = 0; i < 2; i++)
		signal(to_all[i], SIG_IGN);
	for (size_t i = 0; i < 2; i++)
		sigaction(to_this[i], &pass, NULL);
	status = wait_for(pid);
	command = 0;
	shown = wait_for(pager);
	if (WIFEXITED(shown) && (WEXITSTATUS(shown) == 127 || WEXITSTATUS(shown) == 126)) {
		dt_cmd_fail("the pager '%s' can not be run: name another by PAGER, or say "
			    "--no-pager",
			    words);
		_exit(1);
	}
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	if (WTERMSIG(status) == SIGPIPE)
		_exit(0);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&all);
	sigaddset(&all, WTERMSIG(status));
	raise(WTERMSIG(status));
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	_exit(128 + WTERMSIG(status));
}

void dt_pager_begin(void)
{
	const char *words = find();
	pid_t pid, pager;
	int ends[2], starts[2];

	if (!words || pipe2(ends, O_CLOEXEC))
		return;
	if (pipe2(starts, O_CLOEXEC)) {
		close(ends[0]);
		close(ends[1]);
		return;
	}
	fflush(stdout);
	/* where it is ignored, nothing tells how a child has ended */
	signal(SIGCHLD, SIG_DFL);
	pager = fork();
	if (pager == 0) {
		/* or the end of what there is to show would not be seen */
		close(ends[1]);
		run(words, ends[0]);
	}
	close(ends[0]);
	close(starts[1]);
	pid = pager > 0 ? fork() : -1;
	if (pid > 0) {
		close(ends[1]);
		attend(pid, pager, words);
	}
	/* without a process to wait: the end of input ends the pager */
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(ends[1], STDOUT_FILENO);
		if (isatty(STDERR_FILENO)) {
			terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
			begun = starts[0];
			dup2(ends[1], STDERR_FILENO);
		}
	}
	if (begun < 0)
		close(starts[0]);
	close(ends[1]);
}

int dt_pager_terminal(void)
{
	return terminal >= 0 && !has_come(begun, 0) ? terminal : -1;
}
