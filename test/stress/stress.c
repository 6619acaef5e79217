/* SPDX-License-Identifier: MIT */
/*
 * Appends from many places at once: processes x threads x timer signals x forks. Every call of
 * emit() carries its number in its lane (a thread's own calls, or those of its signal handler), and
 * a checksum of it. Prints how many calls were made in all.
 *
 * usage: stress PROCESSES THREADS CALLS HZ FORKS [PROGRESS-FILE]
 * PROGRESS-FILE: the number of calls made so far is kept there, for tests that kill.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emit.h"

static struct shared {
	uint64_t calls;	   /* of all processes, added when a thread or handler is done */
	uint64_t progress; /* of thread 0 of process 0, after each call */
} * shared;

/*
 * Volatile: the timer's handler comes between any two of these accesses, and they must be made in
 * the order they stand in. The compiler would read the sum before the signals are blocked, as it is
 * told that the C library's functions (leaf) call nothing of this file.
 */
static __thread volatile uint64_t lane[2];
static __thread volatile uint64_t self;
static __thread volatile int ready;
static unsigned calls, threads, forks, hz;
static int first_process;

static void one(unsigned l)
{
	uint64_t seq = ++lane[l];

	if (emit(seq, EMIT_CHECK(seq), l, self) != EMIT_RESULT(seq, l))
		abort();
}

static void on_timer(int sig)
{
	(void)sig;
	if (ready)
		one(1);
}

static void add_calls(void)
{
	ready = 0;
	__atomic_add_fetch(&shared->calls, lane[0] + lane[1], __ATOMIC_SEQ_CST);
	lane[0] = lane[1] = 0;
}

/* A child makes calls of its own, under its own thread id. */
static void fork_one(void)
{
	sigset_t all, old;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* so that both know their counts exactly */
	pid = fork();
	if (pid == 0) {
		lane[0] = lane[1] = 0;
		self = (uint64_t)gettid();
		for (int i = 0; i < 100; i++)
			one(0);
		add_calls();
		_exit(0);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		abort();
	waitpid(pid, NULL, 0);
}

static void *run(void *arg)
{
	long number = (long)arg;
	unsigned every = forks && number == 0 ? calls / (forks + 1) + 1 : 0;
	sigset_t all;

	self = (uint64_t)gettid();
	lane[0] = lane[1] = 0;
	ready = 1;
	for (unsigned i = 0; i < calls; i++) {
		one(0);
		if (number == 0 && first_process)
			__atomic_store_n(&shared->progress, lane[0], __ATOMIC_RELEASE);
		if (every && i % every == every - 1)
			fork_one();
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	add_calls();
	return NULL;
}

static void process(void)
{
	struct sigaction a = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, 0}, {0, 0}};
	pthread_t thread[256];

	if (hz) {
		sigaction(SIGALRM, &a, NULL);
		t.it_interval.tv_usec = t.it_value.tv_usec = 1000000 / hz;
		setitimer(ITIMER_REAL, &t, NULL);
	}
	for (long i = 1; i < (long)threads; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)i) != 0)
			abort();
	run((void *)0);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	int fd = -1;
	unsigned processes;

	if (argc < 6)
		return 2;
	processes = (unsigned)atoi(argv[1]);
	threads = (unsigned)atoi(argv[2]);
	calls = (unsigned)atoi(argv[3]);
	hz = (unsigned)atoi(argv[4]);
	forks = (unsigned)atoi(argv[5]);
	if (argc > 6) {
		fd = open(argv[6], O_RDWR | O_CREAT, 0600);
		if (fd < 0 || ftruncate(fd, sizeof(*shared)) < 0)
			return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
	for (unsigned i = 1; i < processes; i++)
		if (fork() == 0) {
			process();
			_exit(0);
		}
	first_process = 1;
	process();
	while (wait(NULL) > 0)
		;
	printf("%lu\n", (unsigned long)shared->calls);
	return 0;
}
