/* SPDX-License-Identifier: MIT */
/* Recursion: plain, mutual, of two arguments, and very deep. */
#define TRUTH_MAIN
#include "truth.h"

FN int odd(unsigned n);

FN int fib(int n)
{
	ENTER(ARG(n));
	if (n < 2)
		RETURN(n);
	RETURN(fib(n - 1) + fib(n - 2));
}

FN int even(unsigned n)
{
	ENTER(ARG(n));
	if (!n)
		RETURN(1);
	RETURN(odd(n - 1) ^ 2);
}

FN int odd(unsigned n)
{
	ENTER(ARG(n));
	if (!n)
		RETURN(0);
	RETURN(even(n - 1) ^ 4);
}

FN long ackermann(long m, long n)
{
	ENTER(ARG(m), ARG(n));
	if (!m)
		RETURN(n + 1);
	if (!n)
		RETURN(ackermann(m - 1, 1) + 0);
	RETURN(ackermann(m - 1, ackermann(m, n - 1)) + 0);
}

int main(int argc, char **argv)
{
	truth_start();
	ENTER(ARG(argc), ARG(argv));
	printf("%d %d %d %ld\n", fib(12), even(20), odd(31), ackermann(2, 3));
	RETURN(3);
}
