/* SPDX-License-Identifier: MIT */
/*
 * Control flow that a planner must see through: switches with tables, over constants, in leaves and
 * in functions with a frame; computed goto; tail calls direct, conditional, through pointers,
 * arrays and tables; exits that are shared. Prints a checksum.
 */
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static unsigned long sum;

static NOINLINE void add(unsigned long v)
{
	sum = sum * 1099511628211u + v;
}

static NOINLINE int leaf(int n)
{
	switch (n) {
	case 0:
		return 17;
	case 1:
		return n * 3 + (int)sum;
	case 2:
		return (int)(sum >> 3);
	case 3:
		return n ^ 0x55;
	case 4:
		return -n;
	case 5:
		return n << 7;
	case 6:
		return (int)sum / 7;
	case 7:
		return 1;
	}
	return 0;
}

static NOINLINE int framed(int n, int m)
{
	int v = 0;

	for (int i = 0; i < m; i++) {
		switch ((n + i) % 9) {
		case 0:
			add(1);
			v += 3;
			break;
		case 1:
			v ^= n;
			break;
		case 2:
			add((unsigned long)v);
			/* fall through */
		case 3:
			v = -v;
			break;
		case 4:
			if (v > 100)
				return v;
			v += m;
			break;
		case 5:
			v <<= 1;
			break;
		case 6:
			add(6);
			continue;
		case 7:
			v |= 8;
			break;
		default:
			v--;
		}
	}
	return v;
}

/* An interpreter by computed goto, its labels in a static table. */
static NOINLINE long interpret(const unsigned char *code, long a)
{
	static const void *const label[] = {&&stop, &&increment, &&twice, &&swap, &&loop};
	long b = 1;
	int left = 40;

	goto *label[*code];
increment:
	a++;
	goto *label[*++code];
twice:
	a *= 2;
	goto *label[*++code];
swap:
	a ^= b, b ^= a, a ^= b;
	goto *label[*++code];
loop:
	if (left-- > 0)
		code -= 3;
	else
		code++;
	goto *label[*code];
stop:
	return a + b;
}

/* The same by distances from a label. */
static NOINLINE long interpret_distances(const unsigned char *code, long a)
{
	static const int label[] = {&&stop - &&stop, &&increment - &&stop, &&twice - &&stop};

	goto *(&&stop + label[*code]);
increment:
	a += 3;
	goto *(&&stop + label[*++code]);
twice:
	a *= 5;
	goto *(&&stop + label[*++code]);
stop:
	return a;
}

static NOINLINE long one(long n)
{
	return n + 1;
}

static NOINLINE long two(long n)
{
	return n * 2;
}

static long (*const table[])(long) = {one, two, one, two};
static long (*volatile pointer)(long) = two;

static NOINLINE long tail(long n)
{
	return one(n ^ 3);
}

static NOINLINE long tail_conditional(long n)
{
	if (n & 1)
		return two(n);
	if (n & 2)
		return one(n);
	return n;
}

static NOINLINE long tail_pointer(long n)
{
	return pointer(n);
}

static NOINLINE long tail_table(long n)
{
	return table[n & 3](n);
}

/* With a frame first, which is gone at the jump; and a switch in the same function. */
static NOINLINE long tail_late(long n, long m)
{
	add((unsigned long)n);
	switch (m) {
	case 0:
		add(3);
		return tail_table(n);
	case 1:
		n += 9;
		break;
	case 2:
		return pointer(n + 2);
	case 3:
		add(5);
		add(7);
		break;
	case 4:
		n *= 3;
		break;
	case 5:
		return tail_conditional(n);
	}
	add((unsigned long)n);
	return table[m & 3](n);
}

/* Small ones, whose exits have few bytes. */
static NOINLINE void nothing(void)
{
	__asm__ volatile("");
}

static NOINLINE long first_or_second(long a, long b, long c)
{
	return c ? a : b;
}

static NOINLINE const char *find(const char *s, char c)
{
	for (; *s; s++)
		if (*s == c)
			return s;
	return NULL;
}

int main(void)
{
	static const unsigned char code[] = {1, 2, 3, 4, 0, 0}, other[] = {1, 2, 2, 1, 0};

	for (int i = 0; i < 3000; i++) {
		add((unsigned long)leaf(i % 10));
		add((unsigned long)framed(i, i % 23));
		add((unsigned long)interpret(code, i));
		add((unsigned long)interpret_distances(other, i));
		add((unsigned long)tail(i));
		add((unsigned long)tail_conditional(i));
		add((unsigned long)tail_pointer(i));
		add((unsigned long)tail_table(i));
		add((unsigned long)tail_late(i, i % 7));
		add((unsigned long)first_or_second(i, -i, i % 3));
		add((unsigned long)(find("the quick brown fox", (char)('a' + i % 26)) != NULL));
		nothing();
	}
	printf("%lx\n", sum);
	return (int)(sum % 100);
}
