/* SPDX-License-Identifier: MIT */
/* 100,000 frames at once. */
#define TRUTH_MAIN
#include "truth.h"

FN long deep(long n, long sum)
{
	ENTER(ARG(n), ARG(sum));
	if (!n)
		RETURN(sum);
	RETURN(deep(n - 1, sum + n) ^ n);
}

int main(void)
{
	truth_start();
	ENTER0();
	printf("%ld\n", deep(100000, 0));
	RETURN(0);
}
