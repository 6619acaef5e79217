/* SPDX-License-Identifier: MIT */
/*
 * A process that wants nothing recorded any more; its children do not either. With "alone", whoever
 * started it is stopped meanwhile and can do nothing about it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <devtrace.h>

enum { NET = 7 };

__attribute__((noinline)) static int called(int n)
{
	__asm__ volatile("");
	DT_EVENT(NET, 1, n);
	DT_EVENT(NET, 2, n, 1, 2, 3);
	return n;
}

/* It has room for a probe. */
__attribute__((noinline)) static int turn(int n)
{
	printf("turn %d\n", called(n) + n);
	return fflush(stdout);
}

int main(int argc, char **argv)
{
	int alone = argc > 1 && !strcmp(argv[1], "alone"), status;

	alarm(60); /* whatever goes wrong */
	called(0);
	printf("before %d %d\n", DT_ENABLED(), DT_SUBSYSTEM_ENABLED(NET));
	fflush(stdout);
	if (alone)
		kill(getppid(), SIGSTOP);
	DT_DISABLE_PROCESS();
	called(1);
	if (alone) {
		if (!fork()) {
			called(2);
			_exit(0);
		}
		wait(&status);
		called(3);
		kill(getppid(), SIGCONT);
		return 4;
	}
	printf("after %d %d\n", DT_ENABLED(), DT_SUBSYSTEM_ENABLED(NET));
	fflush(stdout);
	if (!fork()) {
		called(2);
		printf("child %d %d\n", DT_ENABLED(), DT_SUBSYSTEM_ENABLED(NET));
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	DT_DISABLE_PROCESS();
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) {
		usleep(20000);
		turn(3);
	}
	return called(4);
}
