/* SPDX-License-Identifier: MIT */
/* Arguments and results of every kind: narrow, 128 bits, structures in one or two registers of
 * both kinds or in memory, floating point of all sizes, variadic. */
#define TRUTH_MAIN
#include "truth.h"

#include <complex.h>
#include <stdarg.h>
#include <stdbool.h>

struct two {
	long a, b;
};
struct small {
	int a;
	short b;
	char c;
};
struct mixed {
	long a;
	double d;
};
struct reversed {
	double d;
	long a;
};
struct floats {
	float x, y;
};
struct doubles {
	double x, y;
};
struct big {
	long a[5];
};
typedef __int128 wide;

FN signed char narrow(signed char a, unsigned short b, bool c, short d)
{
	ENTER(ARG(a), ARG(b), ARG(c), ARG(d));
	RETURN((signed char)(a + b + c + d));
}

FN bool truth(long a, unsigned b)
{
	ENTER(ARG(a), ARG(b));
	RETURN((bool)(a > b));
}

FN unsigned long six(char a, long b, int c, unsigned d, short e, long f, long g, int h)
{
	ENTER(ARG(a), ARG(b), ARG(c), ARG(d));
	RETURN((unsigned long)(a + b * c + d - e + f * g + h));
}

FN wide wide_add(wide a, wide b)
{
	ENTER(UNTOLD, UNTOLD, UNTOLD, UNTOLD);
	RETURN_AS(RESULT_WIDE, a + b);
}

FN struct two two(struct two x, long k)
{
	ENTER(ARG(x.a), ARG(x.b), ARG(k));
	x.a += k;
	x.b ^= x.a;
	RETURN_AS(RESULT_WIDE, x);
}

FN struct small small(int k, struct small x)
{
	ENTER(ARG(k), UNTOLD);
	x.a += k;
	x.c = 'x';
	RETURN_UNTOLD(x); /* has padding */
}

FN struct mixed mixed(struct mixed x, long k)
{
	ENTER(UNTOLD, ARG(k));
	x.a += k;
	x.d *= 2;
	RETURN_AS(RESULT_INTEGER_VECTOR, x);
}

FN struct reversed reversed(struct reversed x, long k)
{
	ENTER(UNTOLD, ARG(k));
	x.a += k;
	x.d *= 3;
	RETURN_AS(RESULT_VECTOR_INTEGER, x);
}

FN struct floats floats(struct floats x, int k)
{
	ENTER(ARG(k));
	x.x += k;
	x.y -= k;
	RETURN_AS(RESULT_VECTOR, x);
}

FN struct doubles doubles(struct doubles x, int k)
{
	ENTER(ARG(k));
	x.x += k;
	x.y -= k;
	RETURN_UNTOLD(x); /* half of it is in xmm1 */
}

FN struct big big(long k, struct big x, long j)
{
	ENTER(UNTOLD, ARG(k), ARG(j));
	for (int i = 0; i < 5; i++)
		x.a[i] += k * i + j;
	RETURN_UNTOLD(x);
}

FN float single(float x, int k, double y)
{
	ENTER(ARG(k));
	RETURN_AS(RESULT_VECTOR, (float)(x * k + y));
}

FN double twice(double x, long double y, long k)
{
	ENTER(ARG(k));
	RETURN_AS(RESULT_VECTOR, (double)(x * 2 + y + k));
}

FN long double extended(long double x, int k)
{
	ENTER(ARG(k));
	RETURN_UNTOLD(x / 3 + k);
}

/* the x87 registers of this function are in use while it calls */
FN long double stacked(int n)
{
	ENTER(ARG(n));
	if (n <= 0)
		RETURN_UNTOLD(1.25L);
	RETURN_UNTOLD(stacked(n - 1) * 1.5L + stacked(n - 2) / 3.0L);
}

FN double complex turned(double complex z, int k)
{
	ENTER(ARG(k));
	RETURN_UNTOLD(z * I + k);
}

FN float complex turned_float(float complex z, int k)
{
	ENTER(ARG(k));
	RETURN_AS(RESULT_VECTOR, z * (float complex)I + k);
}

FN long double complex turned_long(long double complex z, int k)
{
	ENTER(ARG(k));
	RETURN_UNTOLD(z * I + k);
}

FN double variadic(int n, const char *kinds, ...)
{
	va_list ap;
	double sum = 0;

	ENTER(ARG(n), UNTOLD);
	va_start(ap, kinds);
	for (int i = 0; i < n; i++)
		switch (kinds[i]) {
		case 'i':
			sum = sum * 2 + va_arg(ap, int);
			break;
		case 'l':
			sum = sum * 2 + va_arg(ap, long);
			break;
		case 'd':
			sum = sum * 2 + va_arg(ap, double);
			break;
		case 'L':
			sum = sum * 2 + (double)va_arg(ap, long double);
			break;
		case 's':
			sum = sum * 2 + va_arg(ap, struct doubles).y;
			break;
		}
	va_end(ap);
	RETURN_AS(RESULT_VECTOR, sum);
}

FN __attribute__((ms_abi)) long foreign(long a, double b, long c, long d, long e)
{
	ENTER(UNTOLD);
	RETURN_UNTOLD(a + (long)b * c - d * e);
}

FN void numbers(void)
{
	struct two t = {1, 2};
	struct small s = {5, 6, 7};
	wide w;

	ENTER0();
	printf("%d %d %lu\n", narrow(-100, 40000, true, -7), truth(5, 4),
	       six('a', -2, 3, 4000000000u, -5, 6, 7, 8));
	w = wide_add((wide)1 << 70 | 12345, (wide)-1);
	printf("%lx %lx\n", (unsigned long)(w >> 64), (unsigned long)w);
	t = two(two(t, 5), -9);
	s = small(3, s);
	printf("%ld %ld %d %d %c\n", t.a, t.b, s.a, s.b, s.c);
	LEAVE();
}

FN void structures(void)
{
	struct mixed m = {1, 2.5};
	struct reversed r = {3.5, 4};
	struct floats f = {1.5f, 2.5f};
	struct doubles d = {1.5, 2.5};
	struct big b = {{1, 2, 3, 4, 5}};

	ENTER0();
	m = mixed(m, 7);
	r = reversed(r, 8);
	f = floats(floats(f, 3), 4);
	d = doubles(d, 5);
	b = big(3, b, 9);
	printf("%ld %g %g %ld %g %g %g %g %ld\n", m.a, m.d, r.d, r.a, f.x, f.y, d.x, d.y, b.a[4]);
	LEAVE();
}

FN void floating(void)
{
	double complex z;
	float complex y;
	long double complex x;

	ENTER0();
	printf("%g %g %Lg %Lg\n", single(1.5f, 3, 2.25), twice(1.25, 2.5L, 3), extended(10.0L, 4),
	       stacked(6));
	z = turned(3 + 4 * I, 2);
	y = turned_float(1 + 2 * I, 3);
	x = turned_long(5 + 6 * I, 7);
	printf("%g %g %g %g %Lg %Lg\n", creal(z), cimag(z), crealf(y), cimagf(y), creall(x),
	       cimagl(x));
	LEAVE();
}

int main(void)
{
	struct doubles d = {1, 2};

	truth_start();
	ENTER0();
	numbers();
	structures();
	floating();
	printf("%g %ld\n", variadic(9, "idLsldids", 1, 2.5, 3.5L, d, 4L, 5.5, 6, 7.5, d),
	       foreign(1, 2, 3, 4, 5));
	RETURN(0);
}
