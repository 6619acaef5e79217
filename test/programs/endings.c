/* SPDX-License-Identifier: MIT */
/* Ways to end in the middle of calls; argv[1] says which. */
#define TRUTH_MAIN
#include "truth.h"

#include <pthread.h>
#include <signal.h>

FN void cleanup(void)
{
	ENTER0();
	printf("cleanup\n");
	LEAVE();
}

/* The main thread's stack was left by then, but nothing says so: its parent is not compared. */
FN void anywhere_cleanup(void)
{
	truth_depth = 0;
	ENTER0();
	printf("cleanup\n");
	LEAVE();
}

FN void finish(const char *how)
{
	ENTER(UNTOLD);
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "_exit"))
		_exit(6);
	if (!strcmp(how, "quick"))
		quick_exit(7);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "ill"))
		__asm__ volatile("ud2");
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "thread"))
		pthread_exit(NULL);
	if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	LEAVE();
}

FN long down(int n, const char *how)
{
	ENTER(ARG(n), UNTOLD);
	if (!n)
		finish(how);
	else
		down(n - 1, how);
	RETURN(1L);
}

int main(int argc, char **argv)
{
	truth_start();
	ENTER(ARG(argc), ARG(argv));
	setvbuf(stdout, NULL, _IONBF, 0);
	atexit(argc > 1 && !strcmp(argv[1], "thread") ? anywhere_cleanup : cleanup);
	printf("%ld\n", down(5, argc > 1 ? argv[1] : "none"));
	RETURN(4);
}
