/* SPDX-License-Identifier: MIT */
/* What runs before main and behind it: constructors, destructors, atexit, and the resolver of an
 * indirect function (which runs before the program can tell of anything). */
#define TRUTH_MAIN
#include "truth.h"

static int order;

__attribute__((constructor(101))) FN void first(void)
{
	truth_start();
	ENTER0();
	order = order * 10 + 1;
	LEAVE();
}

__attribute__((constructor)) FN void second(int argc, char **argv)
{
	ENTER(ARG(argc), ARG(argv));
	order = order * 10 + 2;
	LEAVE();
}

__attribute__((destructor)) FN void last(void)
{
	ENTER0();
	printf("last %d\n", order);
	LEAVE();
}

FN void at_exit(void)
{
	ENTER0();
	order = order * 10 + 4;
	LEAVE();
}

/* what `indirect' resolves to is called by its public name */
#pragma push_macro("TRUTH_NAME")
#undef TRUTH_NAME
#define TRUTH_NAME "indirect", sizeof("indirect")
FN int implementation(int x)
{
	ENTER(ARG(x));
	RETURN(x * 11);
}
#pragma pop_macro("TRUTH_NAME")

/* it runs in the middle of relocation, when the compiler's stack protector is not ready */
__attribute__((no_stack_protector)) int (*optional_resolver(void))(int)
{
	return implementation;
}

int indirect(int x) __attribute__((ifunc("optional_resolver")));

int main(void)
{
	truth_start();
	ENTER0();
	order = order * 10 + 3;
	atexit(at_exit);
	printf("%d %d\n", order, indirect(3));
	RETURN(0);
}
