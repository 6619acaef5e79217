/* SPDX-License-Identifier: MIT */
/*
 * For code that runs in a traced process: system calls without libc, the clock, and where a thread
 * has its own data. All of it keeps what the program has in vector registers.
 */
#ifndef DT_ARCH_X86_64_INSIDE_H
#define DT_ARCH_X86_64_INSIDE_H

#include "arch/area.h"
#include "arch/capture.h"
#include "arch/x86_64/cpu.h"
#include "core/types.h"

/* numbers of system calls */
#define DT_SYS_RT_SIGPROCMASK	14
#define DT_SYS_GETPID		39
#define DT_SYS_CLONE		56
#define DT_SYS_VFORK		58
#define DT_SYS_GETPPID		110
#define DT_SYS_PRCTL		157
#define DT_SYS_GETTID		186
#define DT_SYS_FUTEX		202
#define DT_SYS_TGKILL		234
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

#define DT_PASSED_INTEGERS 6u
#define DT_PASSED_VECTORS  8u

/* The arguments of a call that have not been taken yet. */
struct dt_passed {
	uint32_t integers, vectors; /* how many in registers have been taken */
	bool no_vectors;	    /* the caller has passed none in registers */
	uint64_t stack;		    /* address of the next one in memory */
	uint64_t saved;		    /* of a va_list: where the registers are; 0: they are here: */
	uint64_t integer[DT_PASSED_INTEGERS], vector[DT_PASSED_VECTORS];
};

/* A va_list, as it is in memory (System V ABI, 3.5.7). */
struct dt_passed_list {
	uint32_t integers, vectors; /* offsets in `saved' of the next ones */
	uint64_t stack, saved;
};

/* Where register i is from `saved' on. */
#define DT_PASSED_LIST_INTEGER(i) (8 * (i))
#define DT_PASSED_LIST_VECTOR(i)  (8 * DT_PASSED_INTEGERS + 16 * (i))

#pragma GCC visibility push(hidden)
/* Begins at the integer argument `first' of the function at whose entry a point's code has pushed
 * its registers. */
void dt_passed_by_registers(struct dt_passed *p, const void *pushed, unsigned first);
/* Begins where a va_list does; p->integer and p->vector are not used. False: it is none. */
bool dt_passed_by_list(struct dt_passed *p, const struct dt_passed_list *l);
#pragma GCC visibility pop

/* Reads the clock, and sets *core to the core that it was read on. */
static inline uint64_t dt_clock_and_core(uint32_t *core)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(*core));
	*core &= 0xfff; /* Linux keeps the node in the bits above */
	return (uint64_t)hi << 32 | lo;
}

/* Returns the same without looking there. Only for a kernel that allows it: dt_cpu_reads_pointer().
 */
static inline uint64_t dt_own_thread_pointer_read(void)
{
	uint64_t fs;

	__asm__ volatile("rdfsbase %0" : "=r"(fs));
	return fs;
}

/* Returns the address from which a thread's own words are counted, as libc has it in the first one.
 */
static inline uint64_t dt_own_thread_pointer(void)
{
	uint64_t fs;

	__asm__("mov %%fs:0, %0" : "=r"(fs));
	return fs;
}

#endif
