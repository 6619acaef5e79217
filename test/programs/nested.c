/* SPDX-License-Identifier: MIT */
/* GNU C nested functions: the static chain comes in r10, which a hook must keep. */
#define TRUTH_MAIN
#include "truth.h"

FN int apply(int (*f)(int), int x)
{
	ENTER(UNTOLD, ARG(x));
	RETURN(f(x) + f(x + 1));
}

FN int outer(int k)
{
	int calls = 0;

	FN int inner(int x)
	{
		ENTER(ARG(x));
		calls++;
		RETURN(x * k + calls);
	}

	ENTER(ARG(k));
	RETURN(apply(inner, k) + inner(5) + calls);
}

int main(void)
{
	int sum = 0;

	truth_start();
	ENTER0();
	for (int i = 0; i < 10; i++)
		sum = sum * 3 + outer(i);
	printf("%d\n", sum);
	RETURN(0);
}
