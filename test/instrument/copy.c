/* SPDX-License-Identifier: MIT */
/*
 * Copies a megabyte from a file to another in blocks of 8 KB, as the benchmark of Plan 9's devtrace
 * did, through a few layers of functions. Prints the ticks of the quickest pass.
 * usage: copy FROM TO PASSES
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

#define BLOCK  8192
#define SECTOR 512
#define LAYER  __attribute__((noinline))

struct block {
	unsigned char bytes[BLOCK];
	ssize_t n;
};

LAYER static void fill(struct block *b, int fd)
{
	b->n = read(fd, b->bytes, BLOCK);
}

LAYER static uint32_t sector_sum(const unsigned char *p)
{
	uint32_t s = 0;

	for (unsigned i = 0; i < SECTOR; i++)
		s = s * 31 + p[i];
	return s;
}

LAYER static uint32_t block_sum(const struct block *b)
{
	uint32_t s = 0;

	for (ssize_t i = 0; i + SECTOR <= b->n; i += SECTOR)
		s ^= sector_sum(b->bytes + i);
	return s;
}

LAYER static void put(const struct block *b, int fd)
{
	if (write(fd, b->bytes, (size_t)b->n) != b->n)
		_exit(1);
}

LAYER static uint32_t copy(int from, int to)
{
	static struct block b;
	uint32_t sum = 0;

	for (fill(&b, from); b.n > 0; fill(&b, from)) {
		sum += block_sum(&b);
		put(&b, to);
	}
	return sum;
}

int main(int argc, char **argv)
{
	int from = argc == 4 ? open(argv[1], O_RDONLY) : -1;
	int to = argc == 4 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	uint64_t best = ~0ull;
	uint32_t sum = 0;

	if (from < 0 || to < 0)
		return 2;
	for (int i = 0; i < atoi(argv[3]); i++) {
		uint64_t begin;

		lseek(from, 0, SEEK_SET);
		lseek(to, 0, SEEK_SET);
		begin = __rdtsc();
		sum += copy(from, to);
		begin = __rdtsc() - begin;
		if (begin < best)
			best = begin;
	}
	printf("%lu %u\n", best, sum);
	return 0;
}
