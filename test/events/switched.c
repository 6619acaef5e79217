/* SPDX-License-Identifier: MIT */
/* Asks test/tool/switch for subsystems to be switched, and says what it sees. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <devtrace.h>

enum { NET = 7, DISK = 8 };
enum { STEP = 1 };

static void ask(const char *what)
{
	char c;

	dprintf(3, "%s\n", what);
	if (read(4, &c, 1) != 1)
		exit(1);
}

static void step(int n)
{
	DT_EVENT(NET, STEP, n);
	DT_EVENT(DISK, STEP, n);
	DT_TEXT(NET, 2, "text", 4);
	DT_RAW(DT_BODY(NET, 99, n));
	DT_SEND(n);
	printf("%d: %d %d %d %d\n", n, DT_ENABLED(), DT_SUBSYSTEM_ENABLED(NET),
	       DT_SUBSYSTEM_ENABLED(DISK), DT_SUBSYSTEM_ENABLED(12345));
	fflush(stdout);
}

int main(void)
{
	int status;

	step(0);
	ask("off 7");
	step(1);
	ask("on 7");
	step(2);
	ask("off -1");
	step(3);
	/* a child begins as its parent is, and is switched with it */
	if (!fork()) {
		step(4);
		_exit(0);
	}
	wait(&status);
	ask("on 8");
	step(5);
	if (!fork()) {
		step(6);
		ask("on -1");
		step(7);
		_exit(0);
	}
	wait(&status);
	step(8);
	return 6;
}
