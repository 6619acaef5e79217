/* SPDX-License-Identifier: MIT */
/*
 * What makes it hard to tell functions from calls alone: switches, calls that do not come back,
 * computed goto, functions that only pointers lead to between others, tail calls, frames of all
 * kinds, recursion in a circle, callbacks. Prints a number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N __attribute__((noinline, noipa))

static jmp_buf out;
static long sum;

N static void give_up(int n)
{
	sum += n;
	longjmp(out, n);
}

N static __attribute__((noreturn)) void fail(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(9);
}

/* between two that are called, reached by a pointer */
N static int by_pointer(int n)
{
	return n * 3 + 1;
}

N static int checked(int n)
{
	if (n < 0)
		fail("negative");
	return n + 7;
}

static int (*const table[])(int) = {by_pointer, checked};

N static int dense(int n)
{
	switch (n) {
	case 0:
		return checked(n);
	case 1:
		return n * 5;
	case 2:
		sum += 2;
		break;
	case 3:
		return by_pointer(n);
	case 4:
		sum ^= 4;
		break;
	case 5:
		return checked(n + 1) * 2;
	case 6:
		sum -= 6; /* fall through */
	case 7:
		sum += 9;
		break;
	case 9:
		fail("nine");
	}
	return (int)sum;
}

N static int strings(int n)
{
	static const char *const name[] = {"a", "bc", "def", "ghij"};

	switch (n & 7) {
	case 1:
		return (int)strlen(name[0]);
	case 2:
		return (int)strlen(name[1]);
	case 3:
		return (int)strlen(name[2]) + dense(2);
	case 4:
		return (int)strlen(name[3]);
	case 5:
		return dense(3);
	case 6:
		return dense(4);
	default:
		return -1;
	}
}

N static int machine(const char *code)
{
	static const void *const op[] = {&&add, &&twice, &&call, &&end};
	int n = 1;

	goto *op[(int)*code - 'a'];
add:
	n++;
	goto *op[*++code - 'a'];
twice:
	n *= 2;
	goto *op[*++code - 'a'];
call:
	n += checked(n & 3);
	goto *op[*++code - 'a'];
end:
	return n;
}

N static int grows(int n)
{
	char *p = __builtin_alloca((size_t)n + 16);

	memset(p, n, (size_t)n + 1);
	return p[n / 2] + (n > 1 ? grows(n / 2) : 0);
}

N static int many(int n, ...)
{
	va_list a;
	int s = 0;

	va_start(a, n);
	while (n--)
		s += va_arg(a, int);
	va_end(a);
	return s;
}

N static int even(int n);
N static int odd(int n)
{
	return n ? even(n - 1) : 0;
}

N static int even(int n)
{
	return n ? odd(n - 1) : 1;
}

N static int leaf(const int *p)
{
	volatile int a[8];

	for (int i = 0; i < 8; i++)
		a[i] = p[i & 3] + i;
	return a[3] + a[7];
}

N static int onward(int n)
{
	return n & 1 ? checked(n) : table[0](n);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

N static int sorts(int n)
{
	int v[16];

	for (int i = 0; i < 16; i++)
		v[i] = i * n % 17;
	qsort(v, 16, sizeof(*v), compare);
	return v[5];
}

int main(int argc, char **argv)
{
	static const int four[] = {1, 2, 3, 4};

	for (int i = 0; i < 300; i++) {
		sum += dense(i % 8) + strings(i) + onward(i) + grows(i) + sorts(i + 1);
		sum += machine("abcabcd") + many(3, i, 2, 3) + odd(i & 15) + even(i & 7) +
		       leaf(four);
		sum += table[i & 1](i);
		if (i % 50 == 0 && !setjmp(out))
			give_up(i + 1);
	}
	if (argc > 5)
		fail(argv[1]);
	printf("%ld\n", sum);
	return (int)(sum & 63);
}
