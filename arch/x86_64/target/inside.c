/* SPDX-License-Identifier: MIT */
#include "arch/x86_64/inside.h"
#include "include/devtrace-ioctl.h"

#define SYS_ARCH_PRCTL 158
#define ARCH_GET_FS    0x1003

#define PR_GET_TSC    25
#define PR_SET_TSC    26
#define PR_TSC_ENABLE 1

/*
 * A system call with the tracer's mark, by which the kernel's device knows that it is not the
 * program's. A signal handler that comes in between inherits the register, but its calls are at
 * other addresses.
 */
#define OWN_CALL                                                                                   \
	"lea 1f(%%rip), %%r15\n\t"                                                                 \
	"xor %[mark], %%r15\n\t"                                                                   \
	"syscall\n"                                                                                \
	"1:"

long dt_call4(long nr, long a, long b, long c, long d)
{
	long ret;
	register long r10 __asm__("r10") = d;

	__asm__ volatile(OWN_CALL
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), [mark] "i"(DEVTRACE_OWN_CALL)
			 : "rcx", "r11", "r15", "memory");
	return ret;
}

long dt_call6(long nr, long a, long b, long c, long d, long x, long y)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = x;
	register long r9 __asm__("r9") = y;

	__asm__ volatile(OWN_CALL
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9), [mark] "i"(DEVTRACE_OWN_CALL)
			 : "rcx", "r11", "r15", "memory");
	return ret;
}

bool dt_clock_is_open(void)
{
	uint32_t how = 0;

	return dt_call4(DT_SYS_PRCTL, PR_GET_TSC, (long)&how, 0, 0) == 0 && how == PR_TSC_ENABLE;
}

bool dt_call_closes_clock(const uint64_t *argument)
{
	return argument[0] == DT_SYS_PRCTL && (int)argument[1] == PR_SET_TSC &&
	       (uint32_t)argument[2] != PR_TSC_ENABLE;
}

long dt_own_thread_pointer_ask(uint64_t *to)
{
	*to = 0;
	return dt_call4(SYS_ARCH_PRCTL, ARCH_GET_FS, (long)to, 0, 0);
}

/* ---- arguments ---- */

/* What a point's code has pushed, from the last register on, and what was on the stack before. */
struct pushed {
	uint64_t r9, r8, rdi, rsi, rdx, rcx, rax, flags;
	uint64_t red_zone[16], back;
	uint64_t stack[];
};

_Static_assert(__builtin_offsetof(struct pushed, back) == DT_POINT_FRAME, "what a point pushes");

static void take_vectors(uint64_t *v)
{
	__asm__ volatile("movq %%xmm0, %0" : "=r"(v[0]));
	__asm__ volatile("movq %%xmm1, %0" : "=r"(v[1]));
	__asm__ volatile("movq %%xmm2, %0" : "=r"(v[2]));
	__asm__ volatile("movq %%xmm3, %0" : "=r"(v[3]));
	__asm__ volatile("movq %%xmm4, %0" : "=r"(v[4]));
	__asm__ volatile("movq %%xmm5, %0" : "=r"(v[5]));
	__asm__ volatile("movq %%xmm6, %0" : "=r"(v[6]));
	__asm__ volatile("movq %%xmm7, %0" : "=r"(v[7]));
}

void dt_passed_by_registers(struct dt_passed *p, const void *pushed, unsigned first)
{
	const struct pushed *from = pushed;

	p->integer[0] = from->rdi;
	p->integer[1] = from->rsi;
	p->integer[2] = from->rdx;
	p->integer[3] = from->rcx;
	p->integer[4] = from->r8;
	p->integer[5] = from->r9;
	p->integers = first;
	p->vectors = 0;
	p->no_vectors = !(from->rax & 0xff);
	p->stack = (uint64_t)from->stack;
	p->saved = 0;
	take_vectors(p->vector);
}

bool dt_passed_by_list(struct dt_passed *p, const struct dt_passed_list *l)
{
	const uint32_t first = DT_PASSED_LIST_VECTOR(0),
		       end = DT_PASSED_LIST_VECTOR(DT_PASSED_VECTORS);

	if (l->integers > first || l->integers % 8 || l->vectors < first || l->vectors > end ||
	    l->vectors % 16 || !l->saved)
		return false;
	p->integers = l->integers / 8;
	p->vectors = (l->vectors - first) / 16;
	p->no_vectors = false;
	p->stack = l->stack;
	p->saved = l->saved;
	return true;
}
