/* SPDX-License-Identifier: MIT */
/* A process that wants nothing recorded any more; its children do not either. */
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

int main(int argc, char **argv)
{
	int status;

	called(0);
	printf("before %d %d\n", DT_ENABLED(), DT_SUBSYSTEM_ENABLED(NET));
	DT_DISABLE_PROCESS();
	called(1);
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
		called(3);
	}
	return called(4);
}
