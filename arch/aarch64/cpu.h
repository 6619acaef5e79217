/* SPDX-License-Identifier: MIT */
/* The processor's clock, and operations that need particular instructions. */
#ifndef DT_ARCH_AARCH64_CPU_H
#define DT_ARCH_AARCH64_CPU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the clock of records: the virtual counter, in ticks of a constant rate, which all cores
 * read alike. Its step is 1 to 52 ns. The processor may execute other instructions before or after
 * the reading than the program's order says.
 */
static inline uint64_t dt_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

/* Reads the same clock, after everything before it has been executed, and before anything after it
 * is. */
static inline uint64_t dt_ticks_ordered(void)
{
	uint64_t ticks;

	__asm__ volatile("dsb ish\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
}

/* To be called in each round of a loop that waits for another core. */
static inline void dt_cpu_pause(void)
{
	__asm__ volatile("yield");
}

/*
 * Compares both words at p, which is aligned to 16 bytes, with expected, and writes wanted if they
 * are equal; else sets expected to what they are. Returns whether it wrote. It is one atomic access
 * of sequential consistency: the exclusive store is tried also where they are not equal, since what
 * was loaded as a pair is one value only if such a store succeeds, and a fence is behind it,
 * because later stores may pass an stlxp.
 */
static inline bool dt_cas2(void *p, uint64_t expected[2], const uint64_t wanted[2])
{
	uint64_t low, high, put_low, put_high;
	uint32_t failed;
	bool equal;

	do {
		__asm__ volatile("ldaxp %0, %1, %2"
				 : "=&r"(low), "=&r"(high)
				 : "Q"(*(uint64_t(*)[2])p)
				 : "memory");
		equal = low == expected[0] && high == expected[1];
		put_low = equal ? wanted[0] : low;
		put_high = equal ? wanted[1] : high;
		__asm__ volatile("stlxp %w0, %2, %3, %1"
				 : "=&r"(failed), "=Q"(*(uint64_t(*)[2])p)
				 : "r"(put_low), "r"(put_high)
				 : "memory");
	} while (failed);
	__asm__ volatile("dmb ish" : : : "memory");
	expected[0] = low;
	expected[1] = high;
	return equal;
}

#endif
