/* SPDX-License-Identifier: MIT */
/*
 * For code that runs in a traced process: system calls without libc, the clock, and where a thread
 * has its own data. What points need of it (x86_64/inside.h) is not there yet.
 */
#ifndef DT_ARCH_AARCH64_INSIDE_H
#define DT_ARCH_AARCH64_INSIDE_H

#include "arch/area.h"
#include "arch/aarch64/cpu.h"
#include "core/types.h"

/* numbers of system calls */
#define DT_SYS_FUTEX	      98
#define DT_SYS_TGKILL	      131
#define DT_SYS_RT_SIGPROCMASK 135
#define DT_SYS_PRCTL	      167
#define DT_SYS_GETPID	      172
#define DT_SYS_GETPPID	      173
#define DT_SYS_GETTID	      178
#define DT_SYS_CLONE	      220
#define DT_SYS_SECCOMP	      277
#define DT_SYS_RSEQ	      293
#define DT_SYS_VFORK	      (~0ull) /* there is none: it is a clone */

/* The parameters are those of the system call. It returns what the kernel does: a negative errno
 * when it fails. */
#pragma GCC visibility push(hidden)
long dt_call4(long nr, long a, long b, long c, long d);

/* Asks the kernel whether this thread may read the clock. */
bool dt_clock_is_open(void);

/* Looks whether a system call that is about to be made (its number and first three arguments)
 * forbids the clock to this thread. */
bool dt_call_closes_clock(const uint64_t *argument);

/* Returns the thread pointer, which is 0 when the thread has none; the result of the system call
 * that this takes on other processors is 0. */
long dt_own_thread_pointer_ask(uint64_t *to);

/* Reads the clock, which is the same on all cores, and sets *core to the core that it was read on;
 * DT_SHARED_CORE: not known, since the thread has no rseq, and nothing else tells without a system
 * call. */
uint64_t dt_clock_and_core(uint32_t *core);
#pragma GCC visibility pop

/* Returns the same, here. */
static inline uint64_t dt_own_thread_pointer_read(void)
{
	return (uint64_t)__builtin_thread_pointer();
}

/* Returns the address from which a thread's own words are counted. */
static inline uint64_t dt_own_thread_pointer(void)
{
	return (uint64_t)__builtin_thread_pointer();
}

#endif
