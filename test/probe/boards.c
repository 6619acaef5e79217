/* SPDX-License-Identifier: MIT */
/* Four threads that call nothing but functions of boards.S, until a line comes; says how often they were
 * wrong. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

int looped(int n), page_ends(int n), page_begins(int n);
int twice(int n), sum(int n);

static volatile int stop;

static int left(int n)
{
	do
		n -= 3;
	while (n > 0);
	return n;
}

static void *work(void *p)
{
	unsigned long wrong = 0;

	for (int i = 0; !stop; i++) {
		int n = i & 63;

		wrong += twice(n) != 2 * n + !!(n & 8);
		wrong += sum(n) != 3 * n + !!(n & 8);
		wrong += looped(n) != n + left(n);
		/* nothing that is in eax already */
		wrong += page_ends(n + 100) != n + 100 + left(n + 100);
		wrong += page_begins(n + 200) != n + 200 + left(n + 200);
	}
	return (void *)wrong;
}

int main(void)
{
	unsigned long wrong = 0;
	pthread_t t[4];
	void *one;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, NULL);
	puts("ready");
	fflush(stdout);
	getchar();
	stop = 1;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &one);
		wrong += (unsigned long)one;
	}
	printf("%lu wrong\n", wrong);
	return wrong != 0;
}
