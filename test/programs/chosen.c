/* SPDX-License-Identifier: MIT */
/*
 * Calls for filters to choose among while they are recorded. The program counts itself what each
 * choice means, in functions that are not traced (inlined), and prints it: NAME COUNT. argv[1]: how
 * many rounds; argv[2]: how many threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FN __attribute__((noinline))

static volatile long sink;
static __thread int depth, in_parse;
static __thread jmp_buf where;
static long get_all, get_large, get_failed, leaf_all, leaf_in_parse, slow_all, deep_2, deep_3, jumps;

static inline void count(long *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

static inline void enter(void)
{
	depth++;
	if (depth == 2)
		count(&deep_2);
	if (depth == 3)
		count(&deep_3);
}

FN static long leaf(long x)
{
	enter();
	count(&leaf_all);
	if (in_parse)
		count(&leaf_in_parse);
	sink += x;
	depth--;
	return x;
}

/* takes a millisecond at least */
FN static void slow(void)
{
	struct timespec a, b;

	enter();
	count(&slow_all);
	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 1000000);
	depth--;
}

FN static int get(int size)
{
	int result = size % 5 == 0 ? -1 : size;

	enter();
	count(&get_all);
	if (size > 4)
		count(&get_large);
	if (result < 0)
		count(&get_failed);
	sink += leaf(size);
	depth--;
	return result;
}

FN static void parse(int n)
{
	enter();
	in_parse++;
	for (int i = 0; i < 3; i++)
		leaf(i);
	if (n > 0)
		parse(n - 1);
	sink += get(n);
	in_parse--;
	depth--;
}

FN static void jumper(int n)
{
	enter();
	sink++;
	if (n == 0) {
		count(&jumps);
		longjmp(where, 1);
	}
	jumper(n - 1);
	sink++;
	depth--;
}

FN static void work(int i)
{
	int here;

	enter();
	here = depth;
	parse(i % 8);
	leaf(i);
	if (i % 16 == 0)
		slow();
	if (i % 8 == 0) {
		if (!setjmp(where))
			jumper(3);
		depth = here;
	}
	depth--;
}

FN static void *thread(void *rounds)
{
	enter();
	for (long i = 0; i < (long)rounds; i++)
		work((int)i);
	depth--;
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100;
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t t[16];

	for (int i = 0; i < threads && i < 16; i++)
		pthread_create(&t[i], NULL, thread, (void *)rounds);
	for (int i = 0; i < threads && i < 16; i++)
		pthread_join(t[i], NULL);
	printf("get %ld\nget-large %ld\nget-failed %ld\nleaf %ld\nleaf-in-parse %ld\nslow %ld\n"
	       "depth-2 %ld\ndepth-3 %ld\njumps %ld\n",
	       get_all, get_large, get_failed, leaf_all, leaf_in_parse, slow_all, deep_2, deep_3,
	       jumps);
	return 0;
}
