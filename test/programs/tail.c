/* SPDX-License-Identifier: MIT */
/* Calls that an optimizing compiler makes into jumps: direct, conditional, in chains, through a
 * pointer, and to functions outside the program. */
#define TRUTH_MAIN
#include "truth.h"

FN int ping(int n, int sum);

FN int leaf(int x)
{
	ENTER(ARG(x));
	RETURN(x * 3 + 1);
}

FN int direct(int x)
{
	ENTER(ARG(x));
	RETURN_TAIL(leaf(x + 1));
}

FN int conditional(int x)
{
	ENTER(ARG(x));
	if (x & 1)
		RETURN_TAIL(leaf(x));
	if (x & 2)
		RETURN_TAIL(direct(x));
	RETURN(x);
}

FN int chain(int x)
{
	ENTER(ARG(x));
	RETURN_TAIL(conditional(x | 3));
}

FN int pong(int n, int sum)
{
	ENTER(ARG(n), ARG(sum));
	if (n <= 0)
		RETURN(sum);
	RETURN_TAIL(ping(n - 1, sum + n));
}

FN int ping(int n, int sum)
{
	ENTER(ARG(n), ARG(sum));
	if (n <= 0)
		RETURN(-sum);
	RETURN_TAIL(pong(n - 1, sum ^ n));
}

FN int through(int (*f)(int), int x)
{
	ENTER(UNTOLD, ARG(x));
	RETURN_TAIL(f(x + 1));
}

FN int after(int x)
{
	ENTER(ARG(x));
	x += through(leaf, x);
	RETURN_TAIL(through(chain, x));
}

FN int outside(const char *text)
{
	ENTER(UNTOLD);
	RETURN_OUTSIDE(atoi(text));
}

FN void nothing(int *x)
{
	ENTER(UNTOLD);
	++*x;
	LEAVE();
}

FN void into_nothing(int *x)
{
	ENTER(UNTOLD);
	*x += 2;
	truth_tail(TRUTH_NAME, TRUTH_TAIL);
	nothing(x);
}

int main(int argc, char **argv)
{
	int sum = 0;

	truth_start();
	ENTER(ARG(argc), ARG(argv));
	for (int i = 0; i < 8; i++)
		sum = sum * 5 + conditional(i) + chain(i) + direct(i);
	sum += ping(50, 0) + ping(51, 1) + after(4) + outside("17") + after(1);
	into_nothing(&sum);
	printf("%d\n", sum);
	RETURN(0);
}
