/* SPDX-License-Identifier: MIT */
#include "process/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/confine.h"

#define NOBODY 65534
/* no distribution or container gives users numbers from here on */
#define FREE_USERS 2147400000u

static bool become(uid_t user, int folder)
{
	return (folder < 0 || fchown(folder, user, user) == 0) &&
	       setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

bool dt_aside_become_nobody(int folder)
{
	return (setgroups(0, NULL) == 0 && become(FREE_USERS + (uid_t)getpid() % 65536, folder)) ||
	       become(NOBODY, folder);
}

/*
 * Sets this process's command line, so that it is not taken for the controller by programs that
 * look at that. The command line is in the process's memory, at the place that the kernel gives
 * (proc(5): stat, arg_start and arg_end).
 */
static void set_title(const char *title)
{
	char stat[1024] = "", *p;
	unsigned long begin = 0, end = 0;
	int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = file < 0 ? 0 : read(file, stat, sizeof(stat) - 1);

	if (file >= 0)
		close(file);
	p = n > 0 ? strrchr(stat, ')') : NULL; /* the end of field 2, a name */
	for (int field = 2; p && field < 48; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%lu %lu", &begin, &end) != 2 || begin >= end)
		return;
	memset((void *)begin, 0, end - begin);
	dt_format((char *)begin, end - begin, "%s", title);
}

int dt_aside_leave_all(int channel)
{
	int nothing = open("/dev/null", O_RDWR);

	for (int i = 0; nothing >= 0 && i <= (DT_SANITIZED ? 1 : 2); i++)
		dup2(nothing, i);
	if (channel != 3)
		dup2(channel, 3);
	close_range(4, ~0u, 0);
	return 3;
}

int dt_aside_begin(const char *name, void (*run)(int channel, void *ctx), void *ctx,
		   struct dt_error *e)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return dt_fail(e, "no process %s: %s", name, strerror(errno));
	/* forked twice, so that it is no child of the command's */
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		if (fork() == 0) {
			int channel = dt_aside_leave_all(pair[1]);

			prctl(PR_SET_NAME, name);
			set_title(name);
			/* a terminal's signals are for the traced program */
			signal(SIGINT, SIG_IGN);
			signal(SIGQUIT, SIG_IGN);
			run(channel, ctx);
		}
		_exit(0);
	}
	close(pair[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (pid < 0) {
		close(pair[0]);
		return dt_fail(e, "no process %s: %s", name, strerror(errno));
	}
	return pair[0];
}
