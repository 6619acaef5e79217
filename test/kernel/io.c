/* SPDX-License-Identifier: MIT */
/*
 * What the tests record together with the kernel: a client asks a server, over a pipe, for a sum;
 * or, with a file's name, reads and writes at places in that file; or calls a function in a loop;
 * or (exec PROGRAM) becomes another one; or (busy N FILE) reads a byte N times, once there is FILE;
 * or (steps N M) calls a function N times, and reads a byte at each Mth call.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_server[2], to_client[2];

__attribute__((noinline)) long serve_one(void)
{
	char text[64];
	ssize_t n = read(to_server[0], text, sizeof(text));

	if (n <= 0)
		return 0;
	n = snprintf(text, sizeof(text), "%ld", strtol(text, NULL, 10) + 1);
	return write(to_client[1], text, sizeof(text));
}

__attribute__((noinline)) long ask(long v)
{
	char text[64];

	memset(text, 0, sizeof(text));
	snprintf(text, sizeof(text), "%ld", v);
	if (write(to_server[1], text, sizeof(text)) != sizeof(text) ||
	    read(to_client[0], text, sizeof(text)) != sizeof(text))
		return -1;
	return strtol(text, NULL, 10);
}

static int positions(const char *path)
{
	char text[100];
	int fd = open(path, O_RDWR);

	return pread(fd, text, 100, 0) == 100 && pread(fd, text, 7, 1) == 7 &&
			       pread(fd, text, 7, 2) == 7 && pwrite(fd, text, 5, 3) == 5
		       ? 0
		       : 1;
}

/* As many calls as fill a small ring more than once, and three writes. */
__attribute__((noinline)) static long step(long v)
{
	__asm__ volatile("" : "+r"(v));
	return v + 1;
}

static int loops(void)
{
	for (int i = 0; i < 3; i++) {
		for (long k = 0; k < 2000; k++)
			step(k);
		if (write(1, "loop\n", 5) != 5)
			return 1;
	}
	return 0;
}

static int busy(long n, const char *path)
{
	char c;
	int fd = open("/proc/self/exe", O_RDONLY);

	while (access(path, F_OK) < 0)
		usleep(20000);
	for (long i = 0; i < n; i++)
		if (pread(fd, &c, 1, 0) != 1)
			return 1;
	return 0;
}

static int steps(long n, long m)
{
	char c;
	int fd = open("/proc/self/exe", O_RDONLY);

	for (long i = 0; i < n; i++)
		if (step(i) != i + 1 || (i % m == 0 && pread(fd, &c, 1, 0) != 1))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	pid_t server;

	if (argc > 3 && strcmp(argv[1], "steps") == 0)
		return steps(atol(argv[2]), atol(argv[3]));

	if (argc > 3 && strcmp(argv[1], "busy") == 0)
		return busy(atol(argv[2]), argv[3]);
	if (argc > 1 && strcmp(argv[1], "loop") == 0)
		return loops();
	if (argc > 2)
		return execv(argv[2], argv + 2);
	if (argc > 1)
		return positions(argv[1]);
	if (pipe(to_server) < 0 || pipe(to_client) < 0)
		return 1;
	server = fork();
	if (server == 0) {
		close(to_server[1]);
		while (serve_one() > 0)
			;
		exit(0);
	}
	for (long i = 0; i < 3; i++)
		printf("%ld\n", ask(i * 100));
	close(to_server[1]);
	waitpid(server, NULL, 0);
	return 0;
}
