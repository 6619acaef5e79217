/* SPDX-License-Identifier: MIT */
#include "arch/aarch64/inside.h"

#define PR_GET_TSC    25
#define PR_SET_TSC    26
#define PR_TSC_ENABLE 1

#pragma GCC visibility push(hidden)
extern struct dt_blob blob; /* hook.S */
void *memcpy(void *to, const void *from, size_t n);
#pragma GCC visibility pop

/* The compiler calls it to copy structures. */
void *memcpy(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	while (n--)
		*t++ = *f++;
	return to;
}

/* The calls have no mark of the tracer's, as they have on x86-64: the kernel's module, which looks
 * for it, is not there yet. */
long dt_call4(long nr, long a, long b, long c, long d)
{
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x8 __asm__("x8") = nr;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x8) : "memory");
	return x0;
}

/* Kernels before 6.12 can not forbid it, and do not know the question. */
bool dt_clock_is_open(void)
{
	uint32_t how = PR_TSC_ENABLE;

	return dt_call4(DT_SYS_PRCTL, PR_GET_TSC, (long)&how, 0, 0) != 0 || how == PR_TSC_ENABLE;
}

bool dt_call_closes_clock(const uint64_t *argument)
{
	return argument[0] == DT_SYS_PRCTL && (int)argument[1] == PR_SET_TSC &&
	       (uint32_t)argument[2] != PR_TSC_ENABLE;
}

long dt_own_thread_pointer_ask(uint64_t *to)
{
	*to = dt_own_thread_pointer();
	return 0;
}

uint64_t dt_clock_and_core(uint32_t *core)
{
	uint32_t at = DT_SHARED_CORE;

	if (blob.rseq_offset)
		at = __atomic_load_n(
			(uint32_t *)(dt_own_thread_pointer() + (uint64_t)blob.rseq_offset + 4),
			__ATOMIC_RELAXED);
	*core = at < blob.cores ? at : DT_SHARED_CORE;
	return dt_ticks();
}
