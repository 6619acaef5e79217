/* SPDX-License-Identifier: MIT */
/* Vector arguments and results of 16, 32 and 64 bytes: a hook must leave all of them alone. */
#define TRUTH_MAIN
#include "truth.h"

typedef double v2 __attribute__((vector_size(16)));
typedef int i4 __attribute__((vector_size(16)));
typedef double v4 __attribute__((vector_size(32)));
typedef double v8 __attribute__((vector_size(64)));

FN v2 add2(v2 a, v2 b, v2 c, v2 d, v2 e, v2 f, v2 g, v2 h)
{
	ENTER0();
	RETURN_AS(RESULT_VECTOR, a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8);
}

FN i4 ints(i4 a, int k, i4 b)
{
	ENTER(ARG(k));
	RETURN_AS(RESULT_VECTOR, a * k + b);
}

__attribute__((target("avx2"))) FN v4 add4(v4 a, v4 b, v4 c, v4 d, v4 e, v4 f, v4 g, v4 h)
{
	ENTER0();
	RETURN_UNTOLD(a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8);
}

__attribute__((target("avx2"))) FN double run4(double x)
{
	v4 a = {x, x + 1, x + 2, x + 3}, s;

	ENTER0();
	s = add4(a, a + 1, a + 2, a + 3, a * 2, a * 3, a * 4, a * 5);
	s = add4(s, a, s, a, s, a, s, a);
	RETURN_AS(RESULT_VECTOR, s[0] + s[1] * 2 + s[2] * 3 + s[3] * 4);
}

__attribute__((target("avx512f"))) FN v8 add8(v8 a, v8 b, v8 c, v8 d, v8 e, v8 f, v8 g, v8 h)
{
	ENTER0();
	RETURN_UNTOLD(a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8);
}

__attribute__((target("avx512f"))) FN double run8(double x)
{
	v8 a = {x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7}, s;
	double sum = 0;

	ENTER0();
	s = add8(a, a + 1, a + 2, a + 3, a * 2, a * 3, a * 4, a * 5);
	s = add8(s, a, s, a, s, a, s, a);
	for (int i = 0; i < 8; i++)
		sum = sum * 3 + s[i];
	RETURN_AS(RESULT_VECTOR, sum);
}

int main(void)
{
	v2 a = {1, 2}, s;
	i4 i = {1, 2, 3, 4};

	truth_start();
	ENTER0();
	s = add2(a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7);
	s = add2(s, a, s, a, s, a, s, a);
	i = ints(i, 3, ints(i, 5, i));
	printf("%g %g %d %d\n", s[0], s[1], i[0], i[3]);
	if (__builtin_cpu_supports("avx2"))
		printf("%g\n", run4(1.5));
	if (__builtin_cpu_supports("avx512f"))
		printf("%g\n", run8(2.5));
	RETURN(0);
}
