/* SPDX-License-Identifier: MIT */
/*
 * Calls 1,000 times each functions that libc and libm choose for the processor when a program
 * begins, and one of its own; first, with an argument, it says "ready" and waits for a line.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

static char text[256] = "some text", copy[256];
static volatile size_t sink;
static volatile float number = 0.5f;

/* through pointers, or the compiler would know better */
static size_t (*volatile length)(const char *) = strlen;
static int (*volatile compare)(const char *, const char *) = strcmp;
static void *(*volatile duplicate)(void *, const void *, size_t) = memcpy;
static void *(*volatile fill)(void *, int, size_t) = memset;
static char *(*volatile duplicate_some)(char *, const char *, size_t) = strncpy;
static float (*volatile power)(float) = expf;

__attribute__((noinline)) static int one(void)
{
	__asm__ volatile("");
	return 1;
}

__attribute__((noinline)) static int two(void)
{
	__asm__ volatile("");
	return 2;
}

static int (*choose(void))(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse2") ? two : one;
}

int own(void) __attribute__((ifunc("choose")));

int main(int argc, char **argv)
{
	char line[16];

	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
	}
	for (int i = 0; i < 1000; i++) {
		sink += length(text);
		sink += (size_t)compare(text, copy);
		duplicate(copy, text, 16 + (size_t)i % 64);
		fill(copy, i, 16 + (size_t)i % 64);
		duplicate_some(copy, text, 8);
		sink += (size_t)power(number);
		sink += (size_t)own();
	}
	return 0;
}
