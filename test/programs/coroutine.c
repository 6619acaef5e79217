/* SPDX-License-Identifier: MIT */
/* Coroutines by ucontext: several stacks of one thread, left and entered in the middle of calls. */
#define TRUTH_MAIN
#include "truth.h"

#include <ucontext.h>

#define COROUTINES 5

static struct coroutine {
	ucontext_t context;
	char stack[64 << 10];
	int depth;
	int value;
	int done;
} co[COROUTINES];
static ucontext_t scheduler;
static int current, main_depth;

/* Not a function: switching is done inside the one that yields. */
#define YIELD(v)                                                                                   \
	do {                                                                                       \
		int me = current;                                                                  \
		co[me].value = (v);                                                                \
		co[me].depth = truth_depth;                                                        \
		truth_depth = main_depth;                                                          \
		truth_stack = 0;                                                                   \
		swapcontext(&co[me].context, &scheduler);                                          \
	} while (0)

FN int inner(int n, int x)
{
	ENTER(ARG(n), ARG(x));
	if (!n) {
		YIELD(x);
		RETURN(x + 1);
	}
	RETURN(inner(n - 1, x + n) ^ 1);
}

FN void body(int k)
{
	ENTER(ARG(k));
	for (int i = 0; i < 6; i++) {
		int got = inner(k + i, i);

		YIELD(got * 2);
	}
	co[k].done = 1;
	LEAVE();
	truth_depth = main_depth;
	truth_stack = 0;
}

FN int resume(int k)
{
	ENTER(ARG(k));
	main_depth = truth_depth;
	current = k;
	truth_depth = co[k].depth;
	truth_stack = (uint8_t)(k + 1);
	swapcontext(&scheduler, &co[k].context);
	RETURN(co[k].value);
}

int main(void)
{
	long sum = 0;

	truth_start();
	ENTER0();
	for (int k = 0; k < COROUTINES; k++) {
		getcontext(&co[k].context);
		co[k].context.uc_stack.ss_sp = co[k].stack;
		co[k].context.uc_stack.ss_size = sizeof(co[k].stack);
		co[k].context.uc_link = &scheduler;
		makecontext(&co[k].context, (void (*)(void))body, 1, k);
	}
	for (int left = COROUTINES; left;)
		for (int k = 0; k < COROUTINES; k++) {
			if (co[k].done)
				continue;
			sum = sum * 3 + resume(k);
			left -= co[k].done;
		}
	printf("%ld\n", sum);
	RETURN(0);
}
