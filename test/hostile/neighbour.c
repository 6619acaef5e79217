/* SPDX-License-Identifier: MIT */
/*
 * A program of another user than the hostile one's, recorded beside it: it tells how many calls it
 * has made, each with its own number and a secret. usage: neighbour SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SECRET 0x5ec4e75ec4e75ec4

__attribute__((noipa)) long mine(long secret, long n)
{
	return secret + n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);
	long n = 0;

	while (now() < end) {
		for (int i = 0; i < 100; i++)
			mine(SECRET, n++);
		usleep(1000);
	}
	printf("mine %ld\n", n);
	return 0;
}
