/* SPDX-License-Identifier: MIT */
/* What the program is about to forbid itself, and threads that it makes: called by hook.S from
 * where libc is led through the area. */
#ifndef DT_TARGET_FORBID_H
#define DT_TARGET_FORBID_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/* Looks at a call of prctl or seccomp that is about to be made. argument: the number of the system
 * call and its first three arguments. */
void dt_before_call(const uint64_t *argument);

/*
 * A clone without a thread block of its own would append with its maker's rseq block, which does
 * not protect it. If the maker sleeps meanwhile (as in vfork) the child marks the block: see clone
 * in hook.S. If both run, no thread of the process can append by rseq any more. Both return the
 * time for the child: dt_born().
 */
uint64_t dt_before_clone(uint64_t flags);
uint64_t dt_before_clone3(const uint64_t *args); /* struct clone_args, made by libc itself */

/* The parent's rseq block still has the child's mark. Registering it anew stores the core. */
void dt_after_vfork(void);
#pragma GCC visibility pop

#endif
