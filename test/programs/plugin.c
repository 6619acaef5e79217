/* SPDX-License-Identifier: MIT */
/*
 * A library for loader.c. Its own state shows whether it was loaded anew. With OTHER a function has
 * another name, of the same length: all is where it is in the first one.
 */
#include "truth.h"
#include "library.h"

static long state;

__attribute__((constructor)) FN void plugin_begin(void)
{
	truth_start();
	ENTER0();
	state = 5;
	LEAVE();
}

__attribute__((destructor)) FN void plugin_end(void)
{
	ENTER0();
	state = 0;
	LEAVE();
}

#ifdef OTHER
#define plugin_inner other__inner
#endif

FN long plugin_inner(long x)
{
	ENTER(ARG(x));
	RETURN(x * 3 + state++);
}

FN long plugin_work(long n, long x)
{
	ENTER(ARG(n), ARG(x));
	if (!n)
		RETURN(plugin_inner(x));
	RETURN(plugin_work(n - 1, plugin_inner(x)) ^ n);
}

FN long plugin_back(long (*f)(long), long x)
{
	ENTER(UNTOLD, ARG(x));
	RETURN(f(x + state) + 1);
}
