/* SPDX-License-Identifier: MIT */
/*
 * Stacks that are just large enough: a thread on the smallest one there may be, a handler on an
 * alternate stack of the least size, and a coroutine with a few kilobytes above a guard page.
 */
#define TRUTH_MAIN
#include "truth.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

static ucontext_t back, there;
static int depth;

FN int small(int n, int x)
{
	ENTER(ARG(n), ARG(x));
	if (!n)
		RETURN(x);
	RETURN(small(n - 1, x * 3 + n) ^ n);
}

FN void *thread(void *arg)
{
	ENTER(ARG(arg));
	RETURN((void *)(long)small(5, (int)(long)arg));
}

FN void on_signal(int sig)
{
	ENTER(ARG(sig));
	small(2, sig);
	LEAVE();
}

FN void body(void)
{
	ENTER0();
	small(3, 4);
	LEAVE();
	truth_depth = depth;
	truth_stack = 0;
}

/* Touches all but `left' bytes of the stack first, as a function with an array would. */
FN void on_small_stack(long left)
{
	long page = sysconf(_SC_PAGESIZE);
	char *stack = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ENTER(ARG(left));
	mprotect(stack, (size_t)page, PROT_NONE);
	getcontext(&there);
	there.uc_stack.ss_sp = stack + page;
	there.uc_stack.ss_size = (size_t)left;
	there.uc_link = &back;
	makecontext(&there, body, 0);
	depth = truth_depth;
	truth_depth = 0;
	truth_stack = 1;
	swapcontext(&back, &there);
	munmap(stack, 2 * (size_t)page);
	LEAVE();
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t alternate = {.ss_size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 1024};
	pthread_attr_t smallest;
	pthread_t t;
	void *got;

	truth_start();
	ENTER0();
	pthread_attr_init(&smallest);
	pthread_attr_setstacksize(&smallest, (size_t)sysconf(_SC_THREAD_STACK_MIN));
	if (pthread_create(&t, &smallest, thread, (void *)3))
		abort();
	pthread_join(t, &got);
	alternate.ss_sp = malloc(alternate.ss_size);
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	for (long left = 4096; left >= 2560; left -= 256)
		on_small_stack(left);
	printf("%d\n", (int)(long)got);
	RETURN(0);
}
