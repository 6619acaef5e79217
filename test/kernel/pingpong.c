/* SPDX-License-Identifier: MIT */
/*
 * Two that wake each other: pingpong pipe|futex|sleep ROUNDS. Two processes over pipes, two threads
 * by futexes, or one that sleeps and is woken by the timer. Prints the numbers of both, and how
 * many ticks of the cycle counter it took.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int to[2], from[2];
static uint32_t turn; /* 0: the first one's */
static long rounds;
static volatile pid_t other;

__attribute__((noinline)) long give(int fd)
{
	return write(fd, "", 1);
}

__attribute__((noinline)) long take(int fd)
{
	char c;

	return read(fd, &c, 1);
}

__attribute__((noinline)) void pass(uint32_t whose)
{
	__atomic_store_n(&turn, whose, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

__attribute__((noinline)) void await(uint32_t whose)
{
	uint32_t is;

	while ((is = __atomic_load_n(&turn, __ATOMIC_SEQ_CST)) != whose)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, is, NULL, NULL, 0);
}

static void *answer(void *unused)
{
	other = (pid_t)syscall(SYS_gettid);
	for (long i = 0; i < rounds; i++) {
		await(1);
		pass(0);
	}
	return unused;
}

static void by_futex(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, answer, NULL);
	while (!other)
		usleep(1000);
	for (long i = 0; i < rounds; i++) {
		pass(1);
		await(0);
	}
	pthread_join(thread, NULL);
}

static void by_pipe(void)
{
	if (pipe(to) || pipe(from))
		exit(1);
	other = fork();
	if (!other) {
		for (long i = 0; i < rounds; i++)
			if (take(to[0]) != 1 || give(from[1]) != 1)
				_exit(1);
		_exit(0);
	}
	for (long i = 0; i < rounds; i++)
		if (give(to[1]) != 1 || take(from[0]) != 1)
			exit(1);
	waitpid(other, NULL, 0);
}

static void by_timer(void)
{
	for (long i = 0; i < rounds; i++)
		usleep(2000);
}

int main(int argc, char **argv)
{
	uint64_t begin;

	if (argc < 3)
		return 2;
	rounds = atol(argv[2]);
	begin = __builtin_ia32_rdtsc();
	if (strcmp(argv[1], "futex") == 0)
		by_futex();
	else if (strcmp(argv[1], "pipe") == 0)
		by_pipe();
	else
		by_timer();
	printf("%d %d %llu\n", getpid(), other,
	       (unsigned long long)(__builtin_ia32_rdtsc() - begin));
	return 0;
}
