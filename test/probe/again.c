/* SPDX-License-Identifier: MIT */
/*
 * Runs a csmith program, compiled with -Dmain=once -Dprintf=said, again and again, each time with its
 * variables as they were at first, so that it does the same again; so it lives long enough for
 * tracepoints to come and go in it. Prints its checksum, and another one, if that came once; on
 * standard error, how often it has run.
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

static unsigned *checksum; /* somewhere else: what is static is as it was before each run */

int said(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (strstr(format, "checksum"))
		*checksum = va_arg(list, unsigned);
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
	size_t size = _end - __data_start, runs = 0;
	char *variables = malloc(size), *own[] = {argv[0], NULL};
	double end = now() + (argc > 1 ? atof(argv[1]) : 0);
	unsigned first = 0, last;

	checksum = malloc(sizeof(*checksum));
	if (!variables || !checksum)
		return 1;
	memcpy(variables, __data_start, size);
	do {
		memcpy(__data_start, variables, size);
		once(1, own);
		last = *checksum;
		if (!runs++)
			first = last;
	} while (now() < end && first == last);
	printf(first == last ? "%X\n" : "%X, then %X\n", first, last);
	fprintf(stderr, "%zu runs\n", runs);
	return 0;
}
