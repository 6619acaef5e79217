// SPDX-License-Identifier: MIT
/*
 * A program, with sleds or without, whose calls are known: it counts each of them itself, and says
 *so at its end, a line "NAME COUNT" for each function. What it counts with has no sleds
 *(known-count.c).
 *
 * usage: known WHAT N
 *
 *	calls	N rounds of calls of all kinds: recursion, tail calls, pointers, callbacks
 *
 *	threads	the same in four threads at once
 *
 *	fork	the same in a child and a child of that, too; each says its own counts
 *
 *	signals	the same with a signal 2000 times a second, whose handler calls
 *
 *	wait	the same until standard input ends; then whether its code is as it was
 *
 *	sleep	sleeps N ms in each way that the kernel has, and says for how long
 *
 *	vfork	calls in N children that share its memory, and in another thread
 *
 *	library	N times: loads plug.so, calls its function, and unloads it
 *
 *	exec	executes itself with `calls N' in a child that has called functions
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "known.h"

#define NOINLINE __attribute__((noinline))
#ifdef __ARM_FEATURE_BTI_DEFAULT
#define PADS 1
#else
#define PADS 0
#endif

NOINLINE long leaf(long a)
{
	count(LEAF);
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}

NOINLINE long tail(long a)
{
	count(TAIL);
	return leaf(a);
}

NOINLINE long jump(long a, long (*to)(long))
{
	count(JUMP);
	return to(a);
}

NOINLINE long fib(long n)
{
	long a, b;

	count(FIB);
	if (n < 2)
		return n;
	/* calls, whatever the compiler would make of a sum */
	a = fib(n - 1);
	__asm__ volatile("" : "+r"(a));
	b = fib(n - 2);
	__asm__ volatile("" : "+r"(b));
	return a + b;
}

NOINLINE double real(double x, int n)
{
	count(REAL);
	return n ? x * 1.5 : real(x, 1) + x;
}

NOINLINE int compare(const void *a, const void *b)
{
	count(COMPARE);
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

NOINLINE void handler(int sig)
{
	int saved = errno;

	count(HANDLER);
	leaf(sig);
	errno = saved;
}

NOINLINE long one(long i)
{
	int v[8];

	count(ONE);
	for (int k = 0; k < 8; k++)
		v[k] = (int)((i * 31 + k * 17) % 23);
	qsort(v, 8, sizeof(*v), compare);
	return leaf(i) + tail(i) + jump(i, leaf) + jump(i, tail) + fib(5) +
	       (long)real((double)i, 0) + v[0];
}

static long rounds(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += one(i);
	return sum;
}

static void *thread(void *n)
{
	return (void *)rounds((long)n);
}

static int threads(long n)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)n))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static int forks(long n, int depth)
{
	int status = 0;
	pid_t pid;

	rounds(n);
	if (depth == 2)
		return 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		count_reset();
		status = forks(n, depth + 1);
		count_print();
		fflush(stdout);
		_exit(status);
	}
	rounds(n);
	return waitpid(pid, &status, 0) != pid || status;
}

static int signals(long n)
{
	struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	rounds(n);
	setitimer(ITIMER_REAL, &never, NULL);
	return 0;
}

static int waits(long n)
{
	struct pollfd in = {0, POLLIN, 0};

	code_keep();
	printf("ready\n");
	fflush(stdout);
	while (poll(&in, 1, 1) == 0)
		rounds(n);
	printf("code %s\n", code_is_same() ? "as it was" : "has changed");
	return 0;
}

/* Says whether something has lasted for so long, or for `most' at least, which is too long. */
static void lasted(const char *what, const struct timespec *from, long ms, long most)
{
	struct timespec now;
	long took;

	clock_gettime(CLOCK_MONOTONIC, &now);
	took = (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
	printf("%s %s\n", what, took < ms ? "too short" : took < most ? "right" : "too long");
	fflush(stdout);
}

static int sleeps(long ms)
{
	struct timespec t, from, end;
	struct epoll_event event;
	int word = 0, got, e = epoll_create1(0);

	printf("ready\n");
	fflush(stdout);
	for (int i = 0; i < 6; i++) {
		static const char *const name[] = {
			"nanosleep", "clock_nanosleep", "futex", "until", "poll", "epoll"};

		t = (struct timespec){ms / 1000, ms % 1000 * 1000000};
		clock_gettime(CLOCK_MONOTONIC, &from);
		end = (struct timespec){from.tv_sec + t.tv_sec, from.tv_nsec + t.tv_nsec};
		if (end.tv_nsec >= 1000000000)
			end.tv_nsec -= 1000000000, end.tv_sec++;
		got = i == 0   ? (int)syscall(SYS_nanosleep, &t, NULL)
		      : i == 1 ? clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL)
		      : i == 2 ? (int)syscall(SYS_futex, &word, 0, 0, &t, NULL, 0)
		      : i == 3 ? clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL)
		      : i == 4 ? poll(NULL, 0, (int)ms)
			       : epoll_wait(e, &event, 1, (int)ms);
		if (got && !(i == 2 && errno == ETIMEDOUT))
			printf("%s: %s\n", name[i], strerror(i == 1 || i == 3 ? got : errno));
		/* poll() does not count while it is stopped, and epoll_wait() is begun anew */
		lasted(name[i], &from, ms, i >= 4 ? 3 * ms : ms + ms / 2);
		leaf(i);
	}
	return 0;
}

static int vforks(long n)
{
	pthread_t t;
	int status;

	if (pthread_create(&t, NULL, thread, (void *)(10 * n)))
		return 1;
	for (long i = 0; i < n; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			rounds(5);
			_exit(0);
		}
		rounds(1);
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	pthread_join(t, NULL);
	return 0;
}

static int library(long n)
{
	for (long i = 0; i < n; i++) {
		void *so = dlopen("/bin/plug.so", RTLD_NOW);
		long (*plugged)(long, long (*)(long)) =
			so ? (long (*)(long, long (*)(long)))dlsym(so, "plugged") : NULL;

		if (!plugged)
			return 1;
		for (int k = 0; k < 10; k++) {
			count(PLUGGED);
			if (plugged(k, tail) != k + 2)
				return 1;
		}
		dlclose(so);
	}
	return 0;
}

static int executes(char *self, char *n)
{
	char *argv[] = {self, "calls", n, NULL};
	int status;
	pid_t pid;

	rounds(atol(n));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		count_reset();
		leaf(1);
		execv("/nosuch", argv);
		leaf(2);
		count_print();
		fflush(stdout);
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	return waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1;
	int rc = 2;

	if (argc < 2)
		return rc;
	/* what the compiler has not made has no pads, and is executed before main and behind it */
	if (PADS)
		code_guard(1);
	if (!strcmp(argv[1], "calls"))
		printf("sum %ld\n", rounds(n)), rc = 0;
	else if (!strcmp(argv[1], "threads"))
		rc = threads(n);
	else if (!strcmp(argv[1], "fork"))
		rc = forks(n, 0);
	else if (!strcmp(argv[1], "signals"))
		rc = signals(n);
	else if (!strcmp(argv[1], "wait"))
		rc = waits(n);
	else if (!strcmp(argv[1], "sleep"))
		rc = sleeps(n);
	else if (!strcmp(argv[1], "vfork"))
		rc = vforks(n);
	else if (!strcmp(argv[1], "library"))
		rc = library(n);
	else if (!strcmp(argv[1], "exec"))
		rc = executes(argv[0], argv[2]);
	count_print();
	if (PADS)
		code_guard(0);
	return rc;
}
