/* SPDX-License-Identifier: MIT */
/*
 * Threads that call 64 functions of different shapes in turn and check what comes of it, while
 * these are probed, switched and let go of from outside.
 * usage: storm THREADS
 *
 * Each line of its standard input is obeyed and answered:
 *   go     the threads begin
 *   stop   they end; answered by how often steady() was called since they began, in all
 * At its end, or when a sum was wrong, the program ends; its status is 0 only in the first case.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 64
#define HOOKED	    __attribute__((noinline))
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X)                                                                                     \
	EIGHT(X, 0)                                                                                \
	EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)

static uint64_t (*const table[])(uint64_t);

/* one of five shapes: by far the most are of a few instructions, as real ones are */
#define FUNCTION(n)                                                                                \
	HOOKED uint64_t f##n(uint64_t x)                                                           \
	{                                                                                          \
		const unsigned k = 0##n;                                                           \
                                                                                                   \
		switch (k % 5) {                                                                   \
		case 0: /* several returns */                                                      \
			if (x & 1)                                                                 \
				return x * 3 + k;                                                  \
			if (x & 2)                                                                 \
				return (x >> 3) ^ k;                                               \
			return x + 0x1234567;                                                      \
		case 1: /* a loop back to the beginning */                                         \
			for (unsigned i = 0; i < 4; i++)                                           \
				x = (x << 7 | x >> 57) ^ (x * (k + i));                            \
			return x;                                                                  \
		case 2: /* a call at the beginning, another at the end */                          \
			return table[(k + 1) % 64](x ^ k) + 1;                                     \
		case 3: /* a tail call */                                                          \
			return table[(k + 2) % 64](x + k);                                         \
		default: /* a call of few bytes */                                                 \
			return x ^ (uint64_t)k << 32;                                              \
		}                                                                                  \
	}
ALL(FUNCTION)

/* between them in the file: what is always on, and loses no call whatever is done beside it */
HOOKED uint64_t steady(uint64_t x)
{
	return x * 0x9e3779b97f4a7c15u + 1;
}

#define NAME(n) f##n,
static uint64_t (*const table[])(uint64_t) = {ALL(NAME)};

static atomic_bool stop;
static atomic_ulong calls;

static uint64_t round_of(uint64_t x)
{
	for (unsigned i = 0; i < 64; i++)
		x = table[i](x) ^ (x >> 11);
	return steady(x);
}

static void *work(void *seed)
{
	const uint64_t begin = (uintptr_t)seed, right = round_of(begin);
	unsigned long n = 1;

	for (; !stop; n++)
		if (round_of(begin) != right) {
			fprintf(stderr, "storm: a sum is wrong after %lu rounds\n", n);
			_Exit(1);
		}
	calls += n;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	pthread_t thread[THREADS_MAX];
	bool running = false;
	char line[16];

	if (!n || n > THREADS_MAX) {
		fprintf(stderr, "usage: storm THREADS\n");
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		bool go = !strcmp(line, "go\n");

		if (go == running)
			return 2;
		stop = !go;
		if (go)
			calls = 0;
		for (unsigned long i = 0; i < n; i++)
			if (go ? pthread_create(&thread[i], NULL, work, (void *)(i + 1))
			       : pthread_join(thread[i], NULL))
				return 2;
		running = go;
		printf("%lu\n", go ? 0 : atomic_load(&calls));
		fflush(stdout);
	}
	return 0;
}
