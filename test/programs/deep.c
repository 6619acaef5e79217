/* SPDX-License-Identifier: MIT */
/* 100,000 frames at once. */
#define TRUTH_MAIN
#include "truth.h"

#include <pthread.h>

FN long deep(long n, long sum)
{
	ENTER(ARG(n), ARG(sum));
	if (!n)
		RETURN(sum);
	RETURN(deep(n - 1, sum + n) ^ n);
}

FN void *start(void *n)
{
	ENTER(ARG(n));
	RETURN((void *)deep((long)n, 0));
}

int main(void)
{
	pthread_attr_t large;
	pthread_t t;
	void *sum;

	truth_start();
	ENTER0();
	pthread_attr_init(&large);
	pthread_attr_setstacksize(&large, 512 << 20);
	if (pthread_create(&t, &large, start, (void *)100000))
		abort();
	pthread_join(t, &sum);
	printf("%ld\n", (long)sum);
	RETURN(0);
}
