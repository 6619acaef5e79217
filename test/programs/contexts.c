/* SPDX-License-Identifier: MIT */
/*
 * Coroutines whose stacks are arrays of a function that goes on making calls meanwhile: what is called
 * there lies below the coroutines' frames, and they are resumed from deeper calls. One returns, by
 * uc_link; one is given up, and another begins on its stack.
 */
#define TRUTH_MAIN
#include "truth.h"

#include <ucontext.h>

#define COROUTINES 2

static struct {
	ucontext_t context;
	int depth;
} co[COROUTINES];
static ucontext_t back;
static int depth, current;
static long total;

FN long leaf(long x)
{
	ENTER(ARG(x));
	total += x;
	RETURN(total);
}

/* The truth's notion of where the thread is changes with the stack. */
#define TO_MAIN() (co[current].depth = truth_depth, truth_depth = depth, truth_stack = 0)
#define TO_COROUTINE(k)                                                                                \
	(current = (k), depth = truth_depth, truth_depth = co[k].depth, truth_stack = (uint8_t)(1 + (k)))

FN void yield(long x)
{
	int me = current;

	ENTER(ARG(x));
	leaf(x);
	TO_MAIN();
	swapcontext(&co[me].context, &back);
	leaf(x + 1);
	LEAVE();
}

FN void body(void)
{
	ENTER0();
	for (long i = 0; i < 3; i++) {
		leaf(i);
		yield(10 * i);
	}
	LEAVE();
	TO_MAIN();
}

FN void resume(int k)
{
	ENTER(ARG(k));
	leaf(k);
	TO_COROUTINE(k);
	swapcontext(&back, &co[k].context);
	leaf(k + 1);
	LEAVE();
}

FN void resume_deeper(int k, int n)
{
	ENTER(ARG(k), ARG(n));
	if (n)
		resume_deeper(k, n - 1);
	else
		resume(k);
	LEAVE();
}

FN void make(int k, char *stack, long size)
{
	ENTER(ARG(k), ARG(stack), ARG(size));
	getcontext(&co[k].context);
	co[k].context.uc_stack.ss_sp = stack;
	co[k].context.uc_stack.ss_size = (size_t)size;
	co[k].context.uc_link = &back;
	co[k].depth = 0;
	makecontext(&co[k].context, body, 0);
	LEAVE();
}

FN void play(void)
{
	char stack[COROUTINES][8192];

	ENTER0();
	for (int k = 0; k < COROUTINES; k++)
		make(k, stack[k], sizeof(stack[k]));
	for (int i = 0; i < 4; i++) {
		resume(0);
		leaf(7);
		if (i < 2)
			resume_deeper(1, 3);
		leaf(8);
	}
	LEAVE();
}

int main(void)
{
	truth_start();
	ENTER0();
	for (int i = 0; i < 3; i++)
		play();
	leaf(9);
	printf("%ld\n", total);
	RETURN(0);
}
