/* SPDX-License-Identifier: MIT */
/*
 * Runs a command for a limited time, as timeout(1), with two differences. Seconds are counted while
 * the machine runs: one that is suspended, or stopped for a copy of it, costs the command one at
 * most. And a command that is still there after that is shown before it is ended: where each thread
 * of its process group stands, so that a hang tells its cause the first time.
 * usage: limit SECONDS COMMAND [ARGUMENT]...   status: the command's, 124 when its time was over
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* To standard error, each process of the group: what the kernel says, and gdb. */
static void show(pid_t group)
{
	char command[2048];

	snprintf(command, sizeof(command),
		 "exec >&2; for p in $(ps -eo pid=,pgid= | awk '$2 == %d {print $1}'); do "
		 "echo \"limit: process $p: $(tr '\\0' ' ' </proc/$p/cmdline)\"; "
		 "ps -L -o tid=,stat=,wchan:24=,time= -p $p; "
		 "grep -E 'State|TracerPid|Sig|Shd' /proc/$p/status; "
		 "for i in 1 2 3 4 5; do cut -d' ' -f3,14,15 /proc/$p/stat; "
		 "grep -h ctxt /proc/$p/task/*/status | tr '\\n' ' '; sleep 0.2; done; "
		 "timeout 30 gdb -nx -p $p -batch -ex 'thread apply all bt 12' "
		 "-ex 'thread apply all info registers rip rsp rax rdi rsi rdx r11' "
		 "-ex 'thread apply all x/6i $pc' 2>&1 | tail -n 120; done",
		 (int)group);
	if (system(command) != 0)
		fprintf(stderr, "limit: the processes can not be shown\n");
}

int main(int argc, char **argv)
{
	long seconds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	sigset_t children;
	int status;
	pid_t pid;

	if (seconds <= 0) {
		fprintf(stderr, "usage: limit SECONDS COMMAND [ARGUMENT]...\n");
		return 2;
	}
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		sigprocmask(SIG_UNBLOCK, &children, NULL);
		execvp(argv[2], argv + 2);
		fprintf(stderr, "limit: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (pid < 0)
		return 125;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		const struct timespec one = {1, 0};

		/* another child's end, which there is none of, would only make it shorter */
		if (sigtimedwait(&children, NULL, &one) >= 0 || --seconds > 0)
			continue;
		fprintf(stderr, "limit: '%s' has not ended in its time\n", argv[2]);
		show(pid);
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		return 124;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
