/* SPDX-License-Identifier: MIT */
/*
 * Runs a csmith program, compiled with -Dmain=once -Dprintf=said, again and again, each time with its
 * variables as they were at first, so that it does the same again; so it lives long enough for
 * tracepoints to come and go in it. Prints its checksum, and that another one came, if one did.
 * usage: prog MILLISECONDS (0: once)
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char __data_start[], _end[];
int once(int argc, char **argv);
int said(const char *format, ...);

static unsigned *checksum; /* not among the variables */

int said(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	*checksum = strstr(format, "checksum") ? va_arg(list, unsigned) : 0;
	va_end(list);
	return 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	size_t size = _end - __data_start;
	char *first = malloc(size), *own[] = {argv[0], NULL};
	unsigned *all = calloc(2, sizeof(*all));
	double end = now() + atof(argv[1]);

	checksum = all;
	memcpy(first, __data_start, size);
	once(1, own);
	while (now() < end) {
		memcpy(__data_start, first, size);
		checksum = all + 1;
		once(1, own);
		if (all[0] != all[1])
			break;
	}
	printf(all[1] && all[0] != all[1] ? "%X, then %X\n" : "%X\n", all[0], all[1]);
	return 0;
}
