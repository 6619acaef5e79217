/* SPDX-License-Identifier: MIT */
/* Compiled with sleds (instrument/devtrace-as), by several compilers and with several options. */
#include "test/aarch64/sled-functions.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

NOINLINE long sled_plain(SLED_CALL)
{
	__asm__ volatile("" : "+r"(b), "+r"(c), "+r"(d));
	return SLED_RESULT(a);
}

NOINLINE long sled_frame(SLED_CALL)
{
	volatile long kept = a;
	long got = sled_plain(SLED_PASS);

	return got ^ kept ^ a;
}

NOINLINE long sled_tail(SLED_CALL)
{
	return sled_plain(SLED_PASS);
}

NOINLINE long sled_jump(SLED_CALL, sled_fn *to)
{
	return to(SLED_PASS);
}

NOINLINE long sled_returns(SLED_CALL)
{
	volatile long kept;

	switch (a & 3) {
	case 0:
		__asm__ volatile("" : "+r"(b));
		return SLED_RESULT(a);
	case 1:
		kept = a;
		return SLED_RESULT(kept);
	}
	return SLED_RESULT(a);
}

NOINLINE double sled_real(double x, SLED_CALL)
{
	__asm__ volatile("" : "+r"(a), "+r"(b));
	return 2 * x;
}

NOINLINE long sled_storm(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}
