/* SPDX-License-Identifier: MIT */
/*
 * The core that a thread is on, by its rseq; and registering rseq for threads whose libc does not
 * (struct dt_own_rseq in arch/area.h).
 */
#ifndef DT_TARGET_RSEQ_H
#define DT_TARGET_RSEQ_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/* Returns the core that this thread is on, as the kernel keeps it for the hooks; no core's number:
 * nothing protects an append of this thread. */
uint32_t dt_rseq_core(void);

/* Returns the same as dt_asked_thread_id(), but without a system call if the thread's block, or
 * what it has registered with, has it. */
uint32_t dt_own_thread_id(void);

/*
 * Looks whether the id that libc keeps in this thread's block is another thread's: a child that the
 * program has made by a fork of its own (syscall(SYS_fork)) has its maker's, and nobody corrects
 * it.
 */
bool dt_id_is_anothers(void);

/*
 * Has the kernel keep an rseq of ours for this thread, if the session wants that. False: it can
 * not, and the thread appends to the shared ring. A signal handler may call this in the middle of
 * it.
 */
bool dt_rseq_register(void);

/* Called before a child is made that may run in this thread's block: that knows its thread then. */
void dt_rseq_prepare(void);

/*
 * Called before a system call that makes a child that runs in this thread's block (vfork): neither
 * appends by rseq until this thread is asked to register again, at its next record.
 */
void dt_rseq_lend(void);
#pragma GCC visibility pop

#endif
