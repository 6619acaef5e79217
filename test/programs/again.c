/* SPDX-License-Identifier: MIT */
/*
 * Makes threads and processes whose numbers others have had before, and writes to file 9 a line for
 * each one that made calls: "NUMBER PROCESS NAME CALLS", CALLS being those of work().
 *
 * usage: again ROUNDS KINDS [WAIT]
 * Round n does what letter n of KINDS says, from the first one again after the last one:
 *	t  a thread of this process
 *	f  a child with two threads
 *	e  the same, which executes this program before
 *	v  a child of vfork, which calls work() and executes this program
 *	k  a child that is killed within a call
 * After each 19 rounds the numbers begin again where they did at first: ns_last_pid is the PID
 * namespace's. WAIT: it begins when there is a file of that name.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAY   9
#define AGAIN 19

__attribute__((noinline)) int work(int i)
{
	__asm__ volatile("");
	return i + 1;
}

__attribute__((noinline)) int outer(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += work(i);
	__asm__ volatile("");
	return sum;
}

static void say(const char *name, int n)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "%ld %d %s %d\n", (long)syscall(SYS_gettid),
			      getpid(), name, n);

	if (write(SAY, line, (size_t)length) != length)
		_exit(3);
}

static void *thread(void *n)
{
	int calls = (int)(long)n % 7 + 1;
	char name[16];

	snprintf(name, sizeof(name), "t%ld", (long)n);
	prctl(PR_SET_NAME, name);
	outer(calls);
	say(name, calls);
	return NULL;
}

static void run_thread(long n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread, (void *)n) || pthread_join(t, NULL))
		_exit(4);
}

static void live(long n)
{
	char name[16];

	snprintf(name, sizeof(name), "p%ld", n);
	prctl(PR_SET_NAME, name);
	outer((int)(n % 5) + 1);
	run_thread(10 * n);
	run_thread(10 * n + 1);
	say(name, (int)(n % 5) + 1);
}

static void execute(long n)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", n);
	execl("/proc/self/exe", "child", text, NULL);
	_exit(6);
}

__attribute__((noinline)) int stay(int n)
{
	int sum = outer(n);

	say("?", n);
	kill(getpid(), SIGKILL);
	return sum;
}

static void round_of(long n, char kind)
{
	pid_t pid;

	if (kind == 't') {
		run_thread(10 * n);
		return;
	}
	pid = kind == 'v' ? vfork() : fork();
	if (pid == 0) {
		switch (kind) {
		case 'v':
			work(0);
			/* fall through */
		case 'e':
			execute(n);
		case 'k':
			stay((int)(n % 6) + 1);
		}
		live(n);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(5);
}

static void begin_again(const char *from)
{
	int file = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);

	if (file < 0 || write(file, from, strlen(from)) < 0)
		exit(7);
	close(file);
}

int main(int argc, char **argv)
{
	char first[16];

	if (!strcmp(argv[0], "child")) {
		live(atol(argv[1]));
		return 0;
	}
	while (argc > 3 && access(argv[3], F_OK))
		usleep(1000);
	snprintf(first, sizeof(first), "%d", getpid() + 20);
	for (long n = 0; n < atol(argv[1]); n++) {
		if (n % AGAIN == 0)
			begin_again(first);
		round_of(n, argv[2][n % (long)strlen(argv[2])]);
	}
	return 0;
}
