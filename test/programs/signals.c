/* SPDX-License-Identifier: MIT */
/* Handlers of timer signals at some kHz on an alternate stack, between and inside all calls. */
#define TRUTH_MAIN
#include "truth.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static volatile long ticks;

FN long in_handler(long n)
{
	ENTER(ARG(n));
	if (!n)
		RETURN(7L);
	RETURN(in_handler(n - 1) + n);
}

FN void async_tick(int sig)
{
	int saved_depth = truth_depth, saved_errno = errno;

	truth_async++;
	truth_depth = 0;
	ENTER(ARG(sig));
	ticks++;
	if (in_handler(3) != 13)
		abort();
	LEAVE();
	truth_async--;
	truth_depth = saved_depth;
	errno = saved_errno;
}

FN unsigned long work(unsigned long n, unsigned long x)
{
	ENTER(ARG(n), ARG(x));
	if (!n)
		RETURN(x);
	RETURN(work(n - 1, x * 6364136223846793005u + n) ^ n);
}

FN void *worker(void *arg)
{
	static __thread char stack[64 << 10];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	unsigned long sum = (unsigned long)arg;

	ENTER(ARG(arg));
	sigaltstack(&alternate, NULL);
	for (int i = 0; i < 6000; i++)
		sum = work(10, sum);
	while (ticks < 50) /* enough of them, however fast the machine */
		work(10, sum);
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
	RETURN((void *)sum);
}

int main(void)
{
	struct sigaction action = {.sa_handler = async_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerval every = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	pthread_t t;
	void *got, *own;

	truth_start();
	ENTER0();
	sigaction(SIGALRM, &action, NULL);
	pthread_create(&t, NULL, worker, (void *)5);
	setitimer(ITIMER_REAL, &every, NULL);
	own = worker((void *)9);
	pthread_join(t, &got);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%lx %lx\n", (unsigned long)own, (unsigned long)got);
	RETURN(0);
}
