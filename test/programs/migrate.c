/* SPDX-License-Identifier: MIT */
/* Threads that move from core to core all the time, each alone with its records for a while. */
#define TRUTH_MAIN
#include "truth.h"

#include <pthread.h>
#include <sched.h>

FN long work(long n, long x)
{
	ENTER(ARG(n), ARG(x));
	if (!n)
		RETURN(x);
	RETURN(work(n - 1, x * 5 + n) ^ n);
}

FN void move(const cpu_set_t *allowed, int k)
{
	int cores = CPU_COUNT(allowed), core = 0;
	cpu_set_t one;

	ENTER(UNTOLD, ARG(k));
	for (k %= cores; !CPU_ISSET(core, allowed) || k-- > 0; core++)
		;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	sched_setaffinity(0, sizeof(one), &one);
	LEAVE();
}

FN void *wander(void *arg)
{
	long sum = 0;
	cpu_set_t allowed;

	ENTER(ARG(arg));
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int i = 0; i < 300; i++) {
		sum += work(i % 40, sum);
		move(&allowed, i + (int)(long)arg);
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
	RETURN((void *)sum);
}

int main(void)
{
	pthread_t t;
	void *own, *got;

	truth_start();
	ENTER0();
	own = wander((void *)0);
	pthread_create(&t, NULL, wander, (void *)1);
	own = (char *)own + (long)wander((void *)2);
	pthread_join(t, &got);
	printf("%lx %lx\n", (long)own, (long)got);
	RETURN(0);
}
