/* SPDX-License-Identifier: MIT */
/*
 * Threads that each call leaf() ROUNDS times, and perhaps register an rseq of their own.
 * usage: rseq never|first|last|library FILE
 *	never    nobody does
 *	first    before anything else, by a system call whose number does not stand in the code
 *	last     as first, but at the end, when a file named `go' is there
 *	library  when half of the calls are made, by mine() of FILE, which is loaded then
 * Prints a line for each thread: its id, how often it has called leaf(), and the result of
 * registering (0: it could; otherwise an error number; -1: it has not tried).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef THREADS
#define THREADS 4
#endif
#define ROUNDS	500

static const char *when, *file;
static pthread_barrier_t barrier;
static pthread_mutex_t out = PTHREAD_MUTEX_INITIALIZER;
static int (*mine)(void *);
static volatile long base = 300;

__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static int registers(void *at)
{
	return syscall(base + 34, at, 32, 0, 0x53053053) ? errno : 0;
}

static int calls(int n)
{
	for (int i = 0; i < n; i++)
		leaf(i);
	return n;
}

static void *run(void *first)
{
	static __thread struct {
		char bytes[64];
	} block __attribute__((aligned(64)));
	int n = 0, result = -1;

	if (!strcmp(when, "first"))
		result = registers(&block);
	n += calls(ROUNDS / 2);
	pthread_barrier_wait(&barrier);
	if (first && !strcmp(when, "library")) {
		void *l = dlopen(file, RTLD_NOW);

		mine = l ? (int (*)(void *))(uintptr_t)dlsym(l, "mine") : NULL;
	}
	pthread_barrier_wait(&barrier);
	if (!strcmp(when, "library"))
		result = mine ? mine(&block) : ENOENT;
	n += calls(ROUNDS / 2);
	if (!strcmp(when, "last")) {
		while (access("go", F_OK))
			usleep(1000), n += calls(1);
		result = registers(&block);
	}
	pthread_mutex_lock(&out);
	printf("%ld %d %d\n", (long)syscall(SYS_gettid), n, result);
	fflush(stdout);
	pthread_mutex_unlock(&out);
	pthread_barrier_wait(&barrier);
	return first;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	when = argc > 1 ? argv[1] : "never";
	file = argc > 2 ? argv[2] : "";
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 1; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, NULL);
	run(&barrier);
	for (int i = 1; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
