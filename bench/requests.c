/* SPDX-License-Identifier: MIT */
/*
 * A server for bench/requests.sh: one thread answers what another one asks through a socket pair,
 * each request some twenty microseconds of work in fifteen calls; one of a thousand takes two
 * milliseconds more. It prints how many requests it answered in a second, how many of them were
 * slow, and how many calls all and the slow ones made.
 * usage: requests SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OWN __attribute__((noipa))
/* requests that are asked for at a time, so that the server is what limits them */
#define BATCH 16

static unsigned long calls, slow_calls, slow, answered;
static uint32_t table[1u << 12];
static int pair[2];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

OWN uint32_t look_up(uint32_t key)
{
	calls++;
	for (int i = 0; i < 300; i++)
		key = table[key % (1u << 12)] * 2654435761u + key;
	return key;
}

OWN uint32_t parse(uint32_t key)
{
	calls++;
	for (int i = 0; i < 4; i++)
		key ^= look_up(key + (uint32_t)i);
	return key;
}

OWN void wait_long(void)
{
	calls++;
	usleep(2000);
}

OWN uint32_t reply(uint32_t key)
{
	calls++;
	return look_up(key) ^ look_up(~key);
}

OWN uint32_t handle(uint32_t n)
{
	unsigned long before = calls++;
	uint32_t key = parse(n);

	for (int i = 0; i < 3; i++)
		key += reply(key);
	if (n % 1000 == 999) {
		wait_long();
		slow++;
		slow_calls += calls - before;
	}
	return key;
}

OWN void *serve(void *unused)
{
	uint32_t n[BATCH];
	ssize_t got;

	while ((got = recv(pair[0], n, sizeof(n), MSG_WAITALL)) == sizeof(n)) {
		for (int i = 0; i < BATCH; i++)
			n[i] = handle(n[i]);
		if (write(pair[0], n, sizeof(n)) != sizeof(n))
			break;
	}
	return unused;
}

int main(int n, char **args)
{
	double seconds = n > 1 ? atof(args[1]) : 5, begin;
	pthread_t server;
	uint32_t ask[BATCH];

	for (uint32_t i = 0; i < 1u << 12; i++)
		table[i] = i * 2246822519u;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pthread_create(&server, NULL, serve, NULL))
		return 1;
	for (begin = now(); now() < begin + seconds; answered += BATCH) {
		for (uint32_t i = 0; i < BATCH; i++)
			ask[i] = (uint32_t)answered + i;
		if (write(pair[1], ask, sizeof(ask)) != sizeof(ask) ||
		    recv(pair[1], ask, sizeof(ask), MSG_WAITALL) != sizeof(ask))
			return 1;
	}
	seconds = now() - begin;
	close(pair[1]);
	pthread_join(server, NULL);
	printf("%.0f requests a second, %lu of %lu slow, %lu of %lu calls in slow ones\n",
	       (double)answered / seconds, slow, answered, slow_calls, calls);
	return 0;
}
