/* SPDX-License-Identifier: MIT */
/*
 * Runs a csmith program, compiled with -Dmain=once, N times, each time with its variables as they
 * were at first, so that it does the same again; so it lives long enough for tracepoints to come
 * and go in it.
 * usage: prog N      prints the checksum N times
 *        prog        as often as a twentieth of a second of processor time allows, at most 300
 *                    times; says how often on standard error
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char __data_start[], _end[];
int once(int argc, char **argv);

int main(int argc, char **argv)
{
	size_t size = _end - __data_start;
	char *first = malloc(size), *own[] = {argv[0], NULL};
	long n = argc > 1 ? atol(argv[1]) : 300, i = 0;

	if (!first)
		return 1;
	memcpy(first, __data_start, size);
	for (; i < n && (argc > 1 || clock() < CLOCKS_PER_SEC / 20); i++) {
		once(1, own);
		memcpy(__data_start, first, size);
	}
	if (argc <= 1)
		fprintf(stderr, "%ld\n", i);
	return 0;
}
