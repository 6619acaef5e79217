/* SPDX-License-Identifier: MIT */
/*
 * For code that runs in a traced process: system calls without libc, the clock, and where a thread
 * has its own data. All of it keeps what the program has in vector registers.
 */
#ifndef DT_ARCH_X86_64_INSIDE_H
#define DT_ARCH_X86_64_INSIDE_H

#include "arch/x86_64/area.h"
#include "arch/x86_64/capture.h"
#include "arch/x86_64/cpu.h"
#include "core/types.h"

/* numbers of system calls */
#define DT_SYS_RT_SIGPROCMASK	14
#define DT_SYS_GETPID		39
#define DT_SYS_GETPPID		110
#define DT_SYS_PRCTL		157
#define DT_SYS_GETTID		186
#define DT_SYS_FUTEX		202
#define DT_SYS_PROCESS_VM_READV 310
#define DT_SYS_SECCOMP		317
#define DT_SYS_RSEQ		334

#define DT_POINT_FRAME 192u	       /* bytes of stack that a point's code takes: capture.c */
#define DT_USER_END    0x800000000000u /* a program's addresses are below */

/* The parameters are those of the system call. Both return what the kernel does: a negative errno
 * when it fails. */
#pragma GCC visibility push(hidden)
long dt_call4(long nr, long a, long b, long c, long d);
long dt_call6(long nr, long a, long b, long c, long d, long x, long y);

/* Asks the kernel whether this thread may read the clock. */
bool dt_clock_is_open(void);

/* Looks whether a system call that is about to be made (its number and first three arguments)
 * forbids the clock to this thread. */
bool dt_call_closes_clock(const uint64_t *argument);

/* Asks the kernel for the thread pointer; 0: the thread has none. Returns the system call's result.
 */
long dt_own_thread_pointer_ask(uint64_t *to);
#pragma GCC visibility pop

/* Reads the clock, and sets *core to the core that it was read on. */
static inline uint64_t dt_clock_and_core(uint32_t *core)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(*core));
	*core &= 0xfff; /* Linux keeps the node in the bits above */
	return (uint64_t)hi << 32 | lo;
}

/* Returns the address from which a thread's own words are counted. */
static inline uint64_t dt_own_thread_pointer(void)
{
	uint64_t fs;

	__asm__("mov %%fs:0, %0" : "=r"(fs));
	return fs;
}

#endif
