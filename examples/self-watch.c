/* SPDX-License-Identifier: MIT */
/*
 * A program that traces itself, as the test program of the devtrace papers does (figure 4): it opens
 * the ctl of its session, asks for its own records only, starts, acts, stops.
 *
 *	devtrace mount ~/trace
 *	gcc $(pkg-config --cflags devtrace) -O2 -g -o self-watch self-watch.c
 *	devtrace record ./self-watch
 *
 * The path is in the environment of every program that devtrace starts while a mount is there; as an
 * argument for one that is attached to: self-watch ~/trace/SESSION/ctl.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static int act(int n)
{
	__asm__ volatile(""); /* a call that nothing is known of */
	return n * n;
}

static void tell(int ctl, const char *command)
{
	ssize_t n = (ssize_t)strlen(command);

	if (write(ctl, command, (size_t)n) == n)
		return;
	fprintf(stderr, "self-watch: %s: %s\n", command, strerror(errno));
	exit(1);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : getenv("DEVTRACE_CTL");
	char watch[32];
	int ctl, sum = 0;

	if (!path) {
		fprintf(stderr, "self-watch: no DEVTRACE_CTL: devtrace mount DIR goes first\n");
		return 1;
	}
	ctl = open(path, O_WRONLY);
	if (ctl < 0) {
		perror(path);
		return 1;
	}
	tell(ctl, "stop"); /* `devtrace record' records from the beginning */
	act(0);		   /* this is not */
	snprintf(watch, sizeof(watch), "watch %d", getpid());
	tell(ctl, watch);
	tell(ctl, "start");
	for (int i = 1; i <= 5; i++)
		sum += act(i);
	tell(ctl, "stop");
	act(0); /* nor this */
	close(ctl);
	printf("%d\n", sum);
	return 0;
}
