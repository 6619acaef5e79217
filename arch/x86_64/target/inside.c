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
