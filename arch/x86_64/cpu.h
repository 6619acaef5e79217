/* SPDX-License-Identifier: MIT */
/* The processor's clock, and what of its memory needs instructions of its own. */
#ifndef DT_ARCH_CPU_H
#define DT_ARCH_CPU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The clock that records have: the time-stamp counter, in ticks of a constant rate, on each core
 * from about the same zero (session/offsets.h). Other instructions may move across the reading.
 */
static inline uint64_t dt_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* The same, read when everything in front of it has been done, and before anything behind it is. */
static inline uint64_t dt_ticks_ordered(void)
{
	uint64_t ticks;

	__builtin_ia32_lfence();
	ticks = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return ticks;
}

/* In a loop that waits for another core. */
static inline void dt_cpu_pause(void)
{
	__builtin_ia32_pause();
}

/*
 * Compares both words at p, which is aligned to 16 bytes, with expected, and writes wanted if they
 * are the same; else expected is what they were. One access, ordered as the others of sequential
 * consistency are.
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
