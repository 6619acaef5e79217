/* SPDX-License-Identifier: MIT */
/* Loaded and unloaded by load.c. -DNAME: what its inner function is called, as of another version.
 */
#ifndef NAME
#define NAME inner
#endif
__attribute__((noinline)) int NAME(int x)
{
	__asm__ volatile("");
	return x * x + (x >> 2);
}

int plug(int x)
{
	return NAME(x) + 1;
}
