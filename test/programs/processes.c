/* SPDX-License-Identifier: MIT */
/* A tree of forks, vfork with exec, posix_spawn, and exec of itself in place. */
#define TRUTH_MAIN
#include "truth.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

FN int leaf(int x)
{
	ENTER(ARG(x));
	RETURN(x * 2 + 1);
}

FN int collect(pid_t pid)
{
	int status = -1;

	ENTER(ARG(pid));
	if (waitpid(pid, &status, 0) != pid)
		abort();
	RETURN(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* The child returns from functions that its parent entered. */
FN int tree(int n)
{
	pid_t pid;

	ENTER(ARG(n));
	if (!n)
		RETURN(leaf(1));
	pid = fork();
	if (!pid) {
		int got = leaf(n) + tree(n - 1);

		_exit(got & 127);
	}
	RETURN(collect(pid) + tree(n - 1));
}

FN int grow(int n)
{
	pid_t pid;

	ENTER(ARG(n));
	pid = fork();
	if (!pid) {
		if (n)
			RETURN(grow(n - 1) + 1);
		RETURN(1000);
	}
	RETURN(collect(pid));
}

FN int by_vfork(const char *self)
{
	int depth;
	pid_t pid;

	ENTER(UNTOLD);
	depth = truth_depth;
	pid = vfork();
	if (!pid) {
		leaf(5);
		execl(self, self, "one", NULL);
		_exit(126);
	}
	truth_depth = depth;
	RETURN(collect(pid));
}

FN int by_spawn(const char *self)
{
	char *argv[] = {(char *)self, "two", NULL};
	pid_t pid;

	ENTER(UNTOLD);
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
		abort();
	RETURN(collect(pid));
}

FN int grown(void)
{
	pid_t first = getpid();
	int got;

	ENTER0();
	got = grow(3);
	if (getpid() != first)
		_exit(got & 127);
	RETURN(got);
}

FN void again(const char *self)
{
	ENTER(UNTOLD);
	leaf(6);
	execl(self, self, "three", NULL);
	LEAVE();
}

int main(int argc, char **argv)
{
	truth_start();
	ENTER(ARG(argc), ARG(argv));
	if (argc > 1 && !strcmp(argv[1], "three"))
		RETURN(leaf(33));
	if (argc > 1)
		RETURN(leaf(argv[1][0]) & 127);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("%d ", tree(3));
	printf("%d ", grown());
	printf("%d %d\n", by_vfork("/proc/self/exe"), by_spawn("/proc/self/exe"));
	again("/proc/self/exe");
	RETURN(1);
}
