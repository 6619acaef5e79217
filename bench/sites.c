/* SPDX-License-Identifier: MIT */
/*
 * A running process that watches its own 5,000 functions being switched on and off: how long it
 * takes from the first to the last of their 10,000 sites, and how long the process stood still.
 *
 * usage: sites         runs until its standard input ends, prints a line at each change:
 *        on sites=10000 ms=8.42 stopped_ms=0.31
 *        off sites=10000 ms=8.10 stopped_ms=0.00
 *
 * It reads its own site table (doc/sleds.md) and looks at each site's byte. stopped_ms is the
 * longest gap in which the process read no clock although nothing kept it from running: from the
 * gap is taken what the kernel says that it waited for a core (schedstat).
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ONE(n)                                                                                     \
	__attribute__((noinline)) static long f##n(long x)                                         \
	{                                                                                          \
		__asm__ volatile("" : "+r"(x));                                                    \
		return x + n;                                                                      \
	}
/* decimal digits are pasted behind a 1, so that no number is octal */
#define D1(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define D2(m, n)                                                                                   \
	D1(m, n##0)                                                                                \
	D1(m, n##1)                                                                                \
	D1(m, n##2)                                                                                \
	D1(m, n##3) D1(m, n##4) D1(m, n##5) D1(m, n##6) D1(m, n##7) D1(m, n##8) D1(m, n##9)
#define D3(m, n)                                                                                   \
	D2(m, n##0)                                                                                \
	D2(m, n##1)                                                                                \
	D2(m, n##2)                                                                                \
	D2(m, n##3) D2(m, n##4) D2(m, n##5) D2(m, n##6) D2(m, n##7) D2(m, n##8) D2(m, n##9)
#define ALL(m)	D3(m, 10) D3(m, 11) D3(m, 12) D3(m, 13) D3(m, 14)
#define NAME(n) f##n,

ALL(ONE)

static long (*const function[])(long) = {ALL(NAME)};

static long all(void)
{
	long sum = 0;
	for (size_t i = 0; i < sizeof function / sizeof *function; i++)
		sum = function[i](sum);
	return sum;
}

struct site {
	int32_t site, function;
	uint32_t kind;
};
extern const struct site __start_devtrace_sites[], __stop_devtrace_sites[];

static const unsigned char off_byte[] = {0, 0xa9, 0xc3, 0xe9};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* milliseconds this process has waited for a core */
static double waited(void)
{
	static int fd = -1;
	char line[100] = "";
	unsigned long long ran = 0, delay = 0;
	if (fd < 0)
		fd = open("/proc/self/schedstat", O_RDONLY);
	if (fd >= 0 && pread(fd, line, sizeof line - 1, 0) > 0)
		sscanf(line, "%llu %llu", &ran, &delay);
	return delay / 1e6;
}

/* the clock, and the longest stop so far */
static double last, last_wait, longest;

static double tick(void)
{
	double t = now();
	if (t - last > 0.05) {
		double w = waited(), gap = t - last - (w - last_wait);
		if (gap > longest)
			longest = gap;
		last_wait = w;
		t = now(); /* reading the file is not a stop */
	}
	last = t;
	return t;
}

/* Counts the sites that are on; a site of main()'s own watchers counts like any other. */
static size_t count(size_t n)
{
	size_t on = 0;
	for (size_t i = 0; i < n; i++) {
		const struct site *s = &__start_devtrace_sites[i];
		const volatile unsigned char *byte =
			(const volatile unsigned char *)((const char *)&s->site + s->site);
		on += *byte != off_byte[s->kind & 3];
		if (i % 256 == 0)
			tick();
	}
	return on;
}

int main(void)
{
	size_t n = __stop_devtrace_sites - __start_devtrace_sites, before = 0;
	struct pollfd in = {.fd = 0, .events = POLLIN};
	char c;
	setvbuf(stdout, NULL, _IOLBF, 0);
	all();
	last = now();
	last_wait = waited();
	longest = 0;
	printf("ready pid=%d sites=%zu\n", (int)getpid(), n);
	for (double began = 0;;) {
		double earlier = tick();
		size_t on = count(n);
		if (on != before && (before == 0 || before == n))
			began = earlier; /* it began after the last look that saw nothing */
		if (on != before && (on == 0 || on == n)) {
			printf("%s sites=%zu ms=%.3f stopped_ms=%.3f\n", on ? "on" : "off", n,
			       tick() - began, longest);
			all();
			longest = 0;
			last = now();
			last_wait = waited();
		}
		before = on;
		if (poll(&in, 1, 0) > 0 && read(0, &c, 1) <= 0)
			return 0;
	}
}
