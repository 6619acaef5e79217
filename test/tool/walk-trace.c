/* SPDX-License-Identifier: MIT */
/*
 * Reads all that there is in trace files, whatever they hold: test/tool/walk.h. The tests run it
 * over damaged and hostile files, with sanitizers. More than SECONDS (10) of processor time for one
 * is a failure, and so is ten times that by the clock: the machine may be busy.
 *
 * usage: walk-trace [-t SECONDS] FILE...      prints a line for each file that it cannot open
 */
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "test/tool/walk.h"

int main(int argc, char **argv)
{
	unsigned seconds = 10;
	int o;

	while ((o = getopt(argc, argv, "t:")) != -1) {
		if (o != 't')
			return 2;
		seconds = (unsigned)atoi(optarg);
	}
	for (; optind < argc; optind++) {
		fprintf(stderr, "%s\n",
			argv[optind]); /* the last one is the one that it did not survive */
		setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
		alarm(10 * seconds);
		if (!walk(argv[optind]))
			printf("%s\n", walk_error.text);
	}
	return 0;
}
