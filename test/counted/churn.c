/* SPDX-License-Identifier: MIT */
/*
 * Threads that come and go in every way there is, beside two that always run, which all call leaf()
 * and count that. Prints how often it was called. usage: churn ROUNDS [FILE]
 * With FILE they call warm() and do not count it until there is a file of that name.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK (256 << 10)

extern char **environ;

static atomic_long calls;
static atomic_int detached;
static atomic_bool stop, ticked;
static pthread_key_t key;

__attribute__((noinline)) long leaf(long x)
{
	__asm__ volatile("");
	return x * 3 + 1;
}

__attribute__((noinline)) long warm(long x)
{
	__asm__ volatile("");
	return x * 5 + 1;
}

static long (*_Atomic what)(long) = leaf;

static void count(void)
{
	long (*fn)(long) = what;

	fn(1);
	atomic_fetch_add(&calls, fn == leaf);
}

static void *busy(void *arg)
{
	while (!stop) {
		count();
		for (int i = 0; i < 60; i++)
			__builtin_ia32_pause();
	}
	return arg;
}

static void at_end(void *value)
{
	count();
}

static void *returns(void *arg)
{
	pthread_setspecific(key, arg);
	count();
	return arg;
}

static void *exits(void *arg)
{
	count();
	pthread_exit(arg);
}

static void *cancels(void *arg)
{
	count();
	pthread_cancel(pthread_self());
	pthread_testcancel();
	return arg;
}

static void *ends_detached(void *arg)
{
	count();
	atomic_fetch_sub(&detached, 1);
	return arg;
}

static void run(const pthread_attr_t *attr, void *(*fn)(void *))
{
	pthread_t t;

	if (pthread_create(&t, attr, fn, &key))
		abort();
	pthread_join(t, NULL);
}

/* The stack is ours, used for one thread after the other, and full of what is no thread block. */
static void on_own_stack(void)
{
	static void *stack;
	pthread_attr_t attr;

	if (!stack)
		stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	memset(stack, 1, STACK);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK);
	run(&attr, returns);
	pthread_attr_destroy(&attr);
}

#ifdef __GLIBC__
/* Its maker holds it until it has told where it is to run: it waits for a lock first of all. */
static void with_affinity(void)
{
	pthread_attr_t attr;
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	run(&attr, returns);
	pthread_attr_destroy(&attr);
}
#endif

static void detach(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	atomic_fetch_add(&detached, 1);
	if (pthread_create(&t, &attr, ends_detached, NULL))
		abort();
	pthread_attr_destroy(&attr);
}

/* A child in our memory, which calls much of libc before it executes; and one that can not. */
static void spawn(const char *path)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	char *const argv[] = {(char *)path, NULL};
	sigset_t none;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 9, "/dev/null", 0, 0);
	posix_spawn_file_actions_addclose(&actions, 9);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (posix_spawn(&pid, path, &actions, &attr, argv, environ) == 0)
		waitpid(pid, NULL, 0);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
}

static void timer(union sigval v)
{
	count();
	ticked = true;
}

/* Runs timer() in a thread of its own. */
static void tick(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = timer};
	struct itimerspec when = {.it_value.tv_nsec = 1000};
	timer_t t;

	timer_create(CLOCK_MONOTONIC, &e, &t);
	timer_settime(t, 0, &when, NULL);
	while (!ticked)
		usleep(100);
	ticked = false;
	timer_delete(t);
}

static void round_of(int i)
{
	run(NULL, returns);
	run(NULL, exits);
	run(NULL, cancels);
	on_own_stack();
#ifdef __GLIBC__
	with_affinity();
#endif
	detach();
	if (i % 16 == 0)
		spawn("/nonexistent");
	if (i % 64 == 0) {
		spawn("/bin/true");
		tick();
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t b[2];

	if (argc > 2)
		what = warm;
	pthread_key_create(&key, at_end);
	for (int i = 0; i < 2; i++)
		pthread_create(&b[i], NULL, busy, NULL);
	for (bool told = false; argc > 2 && access(argv[2], F_OK); told = true) {
		round_of(1); /* spawns nothing: nobody can attach while it waits for that */
		if (!told) {
			puts("ready");
			fflush(stdout);
		}
	}
	what = leaf;
	for (int i = 0; i < n; i++)
		round_of(i);
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(b[i], NULL);
	while (detached)
		usleep(1000);
	usleep(10000); /* the last of them are behind their last call */
	printf("%ld\n", atomic_load(&calls));
	return 0;
}
