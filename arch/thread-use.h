/* SPDX-License-Identifier: MIT */
/* What code shows about the thread's own words that it uses. */
#ifndef DT_ARCH_THREAD_USE_H
#define DT_ARCH_THREAD_USE_H

#include "arch/numbers.h"
#include "core/types.h"

/* bytes at an end of code that are to be looked at once more with what follows */
#define DT_THREAD_USE_OVERLAP 80

/* Looks whether code may make the system call rseq: loads its number where a call's is, or the
 * first argument of libc's syscall(). */
bool dt_code_calls_rseq(const uint8_t *code, size_t size);

/* Looks whether code may use what is from `low' to `high' (above 0) behind the thread pointer. */
bool dt_code_uses_block(const uint8_t *code, size_t size, uint32_t low, uint32_t high);

/* Returns the number of places that may make the system calls vfork or clone: which load one of
 * their numbers, not far before a system call. `end': what begins in that many of the last bytes is
 * left out. */
size_t dt_code_clones(const uint8_t *code, size_t size, size_t end);

#endif
