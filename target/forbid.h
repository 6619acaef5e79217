/* SPDX-License-Identifier: MIT */
/* What the program is about to forbid itself, and threads that it makes: called by hook.S from
 * where libc is led through the area. */
#ifndef DT_TARGET_FORBID_H
#define DT_TARGET_FORBID_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/* Looks at a call of prctl or seccomp that is about to be made, or of clone or vfork. argument: the
 * number of the system call and its first five arguments. */
void dt_before_call(const uint64_t *argument);

/*
 * A clone without a thread block of its own would append with its maker's rseq block, which does
 * not protect it. If the maker sleeps meanwhile (as in vfork) the child marks the block: see clone
 * in hook.S. If both run, no thread of the process can append by rseq any more. Both return the
 * time for the child: dt_born(). argument: the flags, and the child's thread block. The child must
 * not look into a block that is none of libc's: then the time has DT_CHILD_FOREIGN in it.
 */
#define DT_CHILD_FOREIGN (1ull << 63)
uint64_t dt_before_clone(const uint64_t *argument);
uint64_t dt_before_clone3(const uint64_t *args); /* struct clone_args, made by libc itself */

/* The parent's rseq block still has the child's mark. Registering it anew stores the core. */
void dt_after_vfork(void);
#pragma GCC visibility pop

#endif
