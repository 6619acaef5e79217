// SPDX-License-Identifier: MIT
/*
 * Calls of every form that C has, with an output that depends on all of them. Every function
 * that is entered returns, but for those that are left by longjmp when there is an argument.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct big {
	long a[5];
};
struct pair {
	double d;
	long l;
};

static int depth;

NOINLINE static unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE int even(unsigned n);
NOINLINE int odd(unsigned n)
{
	return n == 0 ? 0 : even(n - 1);
}

NOINLINE int even(unsigned n)
{
	if (n == 0)
		return 1;
	return odd(n - 1);
}

NOINLINE static long self(long n, long sum)
{
	if (n == 0)
		return sum;
	return self(n - 1, sum + n);
}

NOINLINE static struct big make_big(long x)
{
	return (struct big){{x, x + 1, x + 2, x + 3, x + 4}};
}

NOINLINE static struct pair make_pair(double d)
{
	return (struct pair){d * 2, (long)d + 7};
}

NOINLINE static long double longer(long double x)
{
	return x * x + 1;
}

NOINLINE static double complex turn(double complex z)
{
	return z * I;
}

NOINLINE static int sum(int n, ...)
{
	va_list ap;
	int s = 0;

	va_start(ap, n);
	while (n--)
		s += va_arg(ap, int);
	va_end(ap);
	return s;
}

NOINLINE static double mixed(int n, ...)
{
	va_list ap;
	double s = 0;

	va_start(ap, n);
	while (n--)
		s = s * 3 + va_arg(ap, double);
	va_end(ap);
	return s;
}

NOINLINE static int table(int x)
{
	switch (x) {
	case 0:
		return fib(3);
	case 1:
		return -7;
	case 2:
		return even(4);
	case 3:
		return depth + 5;
	case 4:
		return 99;
	case 5:
		return (int)self(3, 0);
	case 6:
		return odd(9);
	case 7:
		return 1234;
	}
	return x;
}

NOINLINE static long computed(const char *program)
{
	static const void *const ops[] = {&&add, &&twice, &&negate, &&stop};
	long acc = 1;

	goto *ops[*program++ - '0'];
add:
	acc += 5;
	goto *ops[*program++ - '0'];
twice:
	acc *= 2;
	goto *ops[*program++ - '0'];
negate:
	acc = -acc;
	goto *ops[*program++ - '0'];
stop:
	return acc;
}

__attribute__((cold, noinline)) static int rare(int x)
{
	return x * 31 + depth;
}

NOINLINE int maybe(int x)
{
	if (__builtin_expect(x > 90, 0)) {
		depth++;
		x = rare(x);
		printf("rare %d\n", x);
		if (x & 1)
			return rare(x) + rare(3);
	}
	return x + 1;
}

NOINLINE static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NOINLINE static int pointer(int (*f)(int), int x)
{
	return f(x);
}

/* leaves its locals below the stack pointer */
NOINLINE static int leaf(int n)
{
	volatile int v[16];
	int s = 0;

	for (int i = 0; i < 16; i++)
		v[i] = i * n;
	for (int i = 0; i < 16; i++)
		s += v[i];
	return s;
}

NOINLINE static long assembly(long x)
{
	long r;

	__asm__("{mov %1, %0|mov %0, %1}\n\tjmp 1f\n\tret\n"
		"1:\tadd {$3, %0|%0, 3}\n\tjz 2f\n2:"
		: "=r"(r)
		: "r"(x));
	return r;
}

__attribute__((weak)) int weakling(int x)
{
	return x ^ 5;
}
int other(int x) __attribute__((alias("maybe")));

NOINLINE static int spin(unsigned n)
{
	int h = 7;

	do {
		h = h * 33 + (int)n;
	} while (n--);
	return h;
}

static int chosen_a(int x)
{
	return x + 1000;
}
static int (*choose(void))(int)
{
	return chosen_a;
}
int chosen(int x) __attribute__((ifunc("choose")));

static jmp_buf env;
NOINLINE static void jumper(int n)
{
	if (n == 0)
		longjmp(env, 42);
	jumper(n - 1);
	depth++;
}

NOINLINE static void *vectors(float *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] = v[i] * 1.5f + (float)i;
	return v;
}

NOINLINE static void tail_void(int n);
NOINLINE static void tail_void_2(int n)
{
	depth += n;
	if (n > 0)
		tail_void(n - 1);
}
NOINLINE static void tail_void(int n)
{
	depth ^= n;
	if (n & 1)
		tail_void_2(n);
	else
		tail_void_2(n - 1);
}

NOINLINE static long churn(void)
{
	long sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += leaf(i & 7) + spin(i & 3) + table(i & 7) + even(i & 15) + self(i & 3, i);
	return sum;
}

static void last(void)
{
	puts("atexit");
}

int main(int argc, char **argv)
{
	int a[64];
	float v[33];
	struct big b;
	struct pair p;
	long total = 0;

	(void)argv;
	atexit(last);
	printf("%u %d %d %ld\n", fib(18), even(1000), odd(777), self(5000, 0));
	b = make_big(fib(5));
	p = make_pair(2.5);
	printf("%ld %ld %g %ld %Lg\n", b.a[0], b.a[4], p.d, p.l, longer(3.5L));
	printf("%g %g\n", creal(turn(1 + 2 * I)), cimag(turn(3 - 4 * I)));
	printf("%d %g\n", sum(5, 1, 2, 3, 4, 5), mixed(3, 1.5, 2.5, 3.5));
	for (int i = 0; i < 9; i++)
		total = total * 7 + table(i);
	printf("%ld %ld\n", total, computed("0112013"));
	for (int i = 80; i < 100; i += 3)
		total += maybe(i) + other(i) + weakling(i) + pointer(maybe, i / 2);
	for (int i = 0; i < 64; i++)
		a[i] = (i * 37) % 101;
	qsort(a, 64, sizeof(*a), by_value);
	for (int i = 0; i < 33; i++)
		v[i] = (float)i / 4;
	vectors(v, 33);
	tail_void(9);
	printf("%ld %d %d %d %ld %d %g %d\n", total, a[3], a[60], leaf(3), assembly(40), spin(50),
	       (double)v[32], depth);
	printf("%d\n", chosen(1));
	if (argc > 1) {
		if (setjmp(env) == 0)
			jumper(5);
		printf("back %d\n", depth);
	}
	printf("%ld\n", churn());
	for (int i = getenv("REPEAT") ? atoi(getenv("REPEAT")) : 0; i > 0; i--)
		if (churn() != churn())
			puts("churn differs");
	return 0;
}
