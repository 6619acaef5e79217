/* SPDX-License-Identifier: MIT */
/* setjmp and longjmp: over ten frames, from inside a loop, over frames that jumped themselves, and
 * out of a signal handler. */
#define TRUTH_MAIN
#include "truth.h"

#include <setjmp.h>
#include <signal.h>

static jmp_buf outer, inner;
static sigjmp_buf back;

FN int down(int n, int value);

FN int down(int n, int value)
{
	ENTER(ARG(n), ARG(value));
	if (!n)
		longjmp(outer, value);
	RETURN(down(n - 1, value) + 1);
}

FN int sibling(int x)
{
	ENTER(ARG(x));
	RETURN(x + 1);
}

FN int over_ten(int x)
{
	int depth, got;

	ENTER(ARG(x));
	depth = truth_depth;
	got = setjmp(outer);
	if (!got)
		got = down(9, x + 100);
	truth_depth = depth;
	got += sibling(got);
	RETURN(got);
}

/* jumps out at once: the next call of its caller is at the same stack pointer */
FN int short_jump(int x)
{
	ENTER(ARG(x));
	longjmp(inner, x);
}

FN int again(int n)
{
	volatile int sum = 0;
	int depth, got;

	ENTER(ARG(n));
	depth = truth_depth;
	got = setjmp(inner);
	truth_depth = depth;
	sum += got;
	if (got < n)
		short_jump(got + 1);
	sum += sibling(sum);
	RETURN(sum + 0);
}

FN int nested(int x)
{
	int depth, got;

	ENTER(ARG(x));
	depth = truth_depth;
	got = setjmp(outer);
	truth_depth = depth;
	if (!got) {
		int depth2 = truth_depth;

		if (!setjmp(inner))
			short_jump(x);
		truth_depth = depth2;
		down(3, x + 1);
	}
	RETURN(got + sibling(x));
}

FN void on_signal(int sig)
{
	ENTER(ARG(sig));
	sibling(sig);
	siglongjmp(back, sig);
}

FN int from_handler(void)
{
	int depth, got;

	ENTER0();
	depth = truth_depth;
	got = sigsetjmp(back, 1);
	truth_depth = depth;
	if (!got)
		raise(SIGUSR1);
	RETURN(sibling(got) + 1);
}

int main(void)
{
	int sum = 0;

	truth_start();
	ENTER0();
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 3; i++)
		sum = sum * 3 + over_ten(i) + again(5) + nested(i + 1) + from_handler();
	printf("%d\n", sum);
	RETURN(0);
}
