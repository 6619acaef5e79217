/* SPDX-License-Identifier: MIT */
/* The processor's clock, and operations that need particular instructions. */
#ifndef DT_ARCH_CPU_H
#define DT_ARCH_CPU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the clock of records: the time-stamp counter, in ticks of a constant rate, which on all
 * cores began at about the same time (session/offsets.h). The processor may execute other
 * instructions before or after the reading than the program's order says.
 */
static inline uint64_t dt_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* Reads the same clock, after everything before it has been executed, and before anything after it
 * is. */
static inline uint64_t dt_ticks_ordered(void)
{
	uint64_t ticks;

	/* no builtin: what runs in traced processes is compiled without SSE2, whose lfence is */
	__asm__ volatile("lfence" ::: "memory");
	ticks = __builtin_ia32_rdtsc();
	__asm__ volatile("lfence" ::: "memory");
	return ticks;
}

/* To be called in each round of a loop that waits for another core. */
static inline void dt_cpu_pause(void)
{
	__builtin_ia32_pause();
}

/*
 * Compares both words at p, which is aligned to 16 bytes, with expected, and writes wanted if they
 * are equal; else sets expected to what they are. Returns whether it wrote. It is one atomic access
 * of sequential consistency.
 */
static inline bool dt_cas2(void *p, uint64_t expected[2], const uint64_t wanted[2])
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %0"
			 : "+m"(*(uint64_t(*)[2])p), "=@ccz"(done), "+a"(expected[0]),
			   "+d"(expected[1])
			 : "b"(wanted[0]), "c"(wanted[1])
			 : "memory");
	return done;
}

#endif
