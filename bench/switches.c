/* SPDX-License-Identifier: MIT */
/*
 * Programs that switch often, for bench/switches.sh. Each runs on the last core, and prints the
 * processor time of one turn in us, of all its threads together.
 * usage: switches pipe TURNS     two threads pass a byte to each other through pipes
 *        switches epoll TURNS    one answers sixteen clients of another through epoll
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OWN	__attribute__((noipa))
#define CLIENTS 16

static int there[2], back[2], server[CLIENTS], client[CLIENTS];
static long turns;

OWN int answer(int from, int to)
{
	char c;

	return read(from, &c, 1) == 1 && write(to, &c, 1) == 1;
}

static void *pipes(void *unused)
{
	for (long i = 0; i < turns && answer(there[0], back[1]); i++)
		;
	return unused;
}

static void *serve(void *unused)
{
	struct epoll_event ready[CLIENTS], e = {.events = EPOLLIN};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	long done = 0;

	for (int i = 0; i < CLIENTS; i++) {
		e.data.fd = server[i];
		epoll_ctl(ep, EPOLL_CTL_ADD, server[i], &e);
	}
	while (done < turns) {
		int n = epoll_wait(ep, ready, CLIENTS, -1);

		for (int i = 0; i < n; i++)
			done += answer(ready[i].data.fd, ready[i].data.fd);
	}
	close(ep);
	return unused;
}

/* Asks all clients' questions, then waits for the answers. */
static void ask(void)
{
	char c = 'x';

	for (long i = 0; i < turns; i += CLIENTS) {
		for (int k = 0; k < CLIENTS; k++)
			if (write(client[k], &c, 1) != 1)
				abort();
		for (int k = 0; k < CLIENTS; k++)
			if (read(client[k], &c, 1) != 1)
				abort();
	}
}

int main(int argc, char **argv)
{
	int epoll = argc == 3 && !strcmp(argv[1], "epoll");
	struct timespec t;
	cpu_set_t last;
	pthread_t other;
	char c = 'x';

	if (argc != 3)
		return 2;
	turns = atol(argv[2]) / CLIENTS * CLIENTS;
	CPU_ZERO(&last);
	CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
	sched_setaffinity(0, sizeof(last), &last);
	for (int i = 0; i < CLIENTS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			abort();
		server[i] = pair[0];
		client[i] = pair[1];
	}
	if (pipe(there) || pipe(back) || pthread_create(&other, NULL, epoll ? serve : pipes, NULL))
		abort();
	if (epoll)
		ask();
	else
		for (long i = 0; i < turns; i++)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				abort();
	pthread_join(other, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	printf("%.3f\n", ((double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3) / (double)turns);
}
