/* SPDX-License-Identifier: MIT */
/* Threads that create threads, end by pthread_exit in the middle, and are cancelled. */
#define TRUTH_MAIN
#include "truth.h"

#include <pthread.h>
#include <semaphore.h>

static sem_t waiting, never;

FN long work(long n, long x)
{
	ENTER(ARG(n), ARG(x));
	if (!n)
		RETURN(x);
	RETURN(work(n - 1, x * 3 + n) ^ n);
}

FN void *tree(void *arg)
{
	long n = (long)arg, sum = 0;
	pthread_t child[2];
	void *got;

	ENTER(ARG(arg));
	for (int i = 0; n && i < 2; i++)
		if (pthread_create(&child[i], NULL, tree, (void *)(n - 1)))
			abort();
	for (int i = 0; i < 20; i++)
		sum += work(n + 5, i);
	for (int i = 0; n && i < 2; i++) {
		pthread_join(child[i], &got);
		sum += (long)got;
	}
	RETURN((void *)sum);
}

FN void leave(long n, void *result)
{
	ENTER(ARG(n), ARG(result));
	if (!n)
		pthread_exit(result);
	leave(n - 1, (char *)result + n);
	LEAVE();
}

FN void *exits(void *arg)
{
	ENTER(ARG(arg));
	leave(6, arg);
	RETURN(arg);
}

FN void wait_forever(int n)
{
	ENTER(ARG(n));
	if (n)
		wait_forever(n - 1);
	sem_post(&waiting);
	sem_wait(&never);
	LEAVE();
}

FN void clean(void *depth)
{
#ifdef __GLIBC__ /* musl cleans up on top of what is cancelled, without unwinding it */
	truth_depth = *(int *)depth;
#endif
	ENTER(UNTOLD);
	LEAVE();
}

FN void *cancelled(void *arg)
{
	int depth;

	ENTER(ARG(arg));
	depth = truth_depth;
	pthread_cleanup_push(clean, &depth);
	wait_forever(4);
	pthread_cleanup_pop(0);
	RETURN(arg);
}

int main(void)
{
	pthread_t t;
	void *got;
	long sum = 0;

	truth_start();
	ENTER0();
	sem_init(&waiting, 0, 0);
	sem_init(&never, 0, 0);
	sum += (long)tree((void *)3);
	for (long i = 0; i < 4; i++) {
		pthread_create(&t, NULL, exits, (void *)i);
		pthread_join(t, &got);
		sum = sum * 3 + (long)got;
		pthread_create(&t, NULL, cancelled, NULL);
		sem_wait(&waiting);
		pthread_cancel(t);
		pthread_join(t, &got);
		sum += got == PTHREAD_CANCELED;
	}
	printf("%ld\n", sum);
	RETURN(0);
}
