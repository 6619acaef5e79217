/* SPDX-License-Identifier: MIT */
/* Leaf functions that keep their data below the stack pointer, computed goto, and callers that
 * know which registers their callee leaves alone. */
#define TRUTH_MAIN
#include "truth.h"

/* 120 bytes in the red zone */
FN long red_zone(long n, long seed)
{
	volatile long a[15];
	long sum = 0;

	ENTER(ARG(n), ARG(seed));
	for (int i = 0; i < 15; i++)
		a[i] = seed * (i + 1);
	for (long i = 0; i < n; i++)
		a[(i * 7) % 15] += a[i % 15];
	for (int i = 0; i < 15; i++)
		sum = sum * 3 + a[i];
	RETURN(sum);
}

/* An interpreter by computed goto, the way out by several returns */
FN long interpret(const unsigned char *code, long x)
{
	static const void *const label[] = {&&add, &&sub, &&mul, &&zone, &&end, &&early};

	ENTER(UNTOLD, ARG(x));
	goto *label[*code];
add:
	x += 3;
	goto *label[*++code];
sub:
	x -= 7;
	goto *label[*++code];
mul:
	x *= 5;
	goto *label[*++code];
zone:
	x = red_zone(x & 15, x);
	goto *label[*++code];
early:
	if (x & 1)
		RETURN(x);
	goto *label[*++code];
end:
	RETURN(x + 1);
}

FN int dense(int x)
{
	ENTER(ARG(x));
	switch (x) {
	case 0:
		RETURN(17);
	case 1:
		RETURN(x * 3);
	case 2:
		RETURN(x << 7);
	case 3:
		RETURN(x ^ 0x55);
	case 4:
		RETURN(x - 9);
	case 5:
		RETURN((int)red_zone(x, 1));
	case 6:
		RETURN(x / 2);
	default:
		RETURN(-1);
	}
}

/*
 * Not told of, so that the compiler sees small bodies: with -fipa-ra it keeps values of the caller
 * in registers that these do not touch, though the calling convention allows them to.
 */
static __attribute__((noinline)) long quiet_small(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 2;
}

__attribute__((noinline)) long quiet_caller(long a, long b, long c, long d, long e, long f)
{
	long s = quiet_small(a);

	s += quiet_small(b + s) ^ a;
	s += quiet_small(c + s) ^ b;
	s += quiet_small(d + s) ^ c;
	s += quiet_small(e + s) ^ d;
	return s * 31 + a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6;
}

int main(void)
{
	static const unsigned char code[] = {0, 2, 3, 1, 5, 2, 3, 0, 5, 1, 3, 2, 4};
	long sum = 0;

	truth_start();
	ENTER0();
	for (long i = 0; i < 40; i++)
		sum = sum * 7 + red_zone(i, i + 1) + interpret(code, i) + dense((int)i % 9) +
		      quiet_caller(i, 2, 3, 4, i, 6);
	printf("%ld\n", sum);
	RETURN(0);
}
