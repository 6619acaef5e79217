/* SPDX-License-Identifier: MIT */
/* What a read of no bytes costs: ticks of a thousand such, the least of some batches; with an
 * argument there are pauses between these, in which others run. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>

#define N 1000

int main(int argc, char **argv)
{
	unsigned long least = ~0ul;
	int fd = open("/dev/null", O_RDONLY);
	char c;

	for (int i = 0; i < 30; i++) {
		unsigned long begin, took;

		if (argc > 1)
			usleep(20000);
		begin = __rdtsc();
		for (int k = 0; k < N; k++)
			if (read(fd, &c, 0) != 0)
				return 1;
		took = __rdtsc() - begin;
		least = took < least ? took : least;
	}
	printf("READS %lu\n", least);
	return 0;
}
