/* SPDX-License-Identifier: MIT */
/* Linked with plugin.so: its constructor runs before main, its destructor behind it. */
#define TRUTH_MAIN
#include "truth.h"
#include "library.h"

FN long back(long x)
{
	ENTER(ARG(x));
	RETURN(x * 7);
}

int main(void)
{
	truth_start();
	ENTER0();
	printf("%ld %ld\n", plugin_work(5, 3), plugin_back(back, 4));
	RETURN(0);
}
