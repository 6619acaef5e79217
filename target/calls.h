/* SPDX-License-Identifier: MIT */
/* Whether the slow path may make system calls and read the clock, and the simplest of the calls. */
#ifndef DT_TARGET_CALLS_H
#define DT_TARGET_CALLS_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/*
 * Looks whether the process allows itself so few system calls that we make none. Another thread may
 * bring that about at any time; it then waits for threads that were counted in
 * process_block.calling before they asked here.
 */
bool dt_is_confined(void);

/* Counts this thread as one that may make system calls, unless the process is confined: then
 * another thread may be waiting until none is counted. Returns whether it was counted. */
bool dt_calling_begin(void);

/* counted: what dt_calling_begin() has returned */
void dt_calling_end(bool counted);

/* Looks whether this thread is in strict seccomp, and so can make no system call for us at all. */
bool dt_is_strict(void);

/* Looks whether some thread's block may not be looked into. */
bool dt_is_strange(void);

/* Returns this thread's thread pointer, with which its strictness is noted. A kernel that does not
 * let it be read has it looked up in the thread block: not for a process with strange threads. */
uint64_t dt_own_thread_mark(void);

/* Looks whether this thread may read the clock. One that can not ask is taken for one that may not.
 */
bool dt_clock_is_allowed(void);

/* Ends appending by rseq: each record goes through the slow path from here on, which looks first.
 */
void dt_fast_path_leave(void);

/* Sleeps until *word is no longer value, it is woken, or ns (less than 1 s) have passed. */
void dt_futex_wait(uint32_t *word, uint32_t value, long ns);

/* Wakes up to n threads that sleep on *word. */
void dt_futex_wake(uint32_t *word, long n);

/* Blocks all signals; *old: what was blocked before, for dt_signals_restore(). */
void dt_signals_block(uint64_t *old);
void dt_signals_restore(const uint64_t *old);

/* Asks the kernel whether the process sees its parent, and that is not the first process: else it
 * may be in another PID namespace than its parent is. True: no system call is allowed. */
bool dt_has_parent(void);

/* Asks the kernel for the thread's id, and returns it with its PID namespace's tag, as in records;
 * DT_NO_TID: no system call is allowed. */
uint32_t dt_asked_thread_id(void);
#pragma GCC visibility pop

#endif
