/* SPDX-License-Identifier: MIT */
/* Births of threads: struct dt_birth. */
#ifndef DT_TARGET_BIRTH_H
#define DT_TARGET_BIRTH_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/*
 * Tells the controller that the number of this thread, which has made no record yet, is a new
 * thread's from now on. made: ticks before it was made; 0: not known; DT_BIRTH_FORKED: the thread
 * is a forked child's, which may tell twice. Returns whether it was told. One that may not read the
 * clock makes no records, and tells nothing.
 */
bool dt_birth_tell(uint64_t made);
#define DT_BIRTH_FORKED UINT64_MAX

/* Returns the time before a thread is made, for the child, which finds it in a register; 0: it may
 * not be asked for. Also called by hook.S, before a vfork. */
uint64_t dt_before_vfork(void);
/* Called by hook.S in a new thread, or in the child of a vfork. made: what dt_before_...() has
 * returned. */
void dt_born(uint64_t made);
#pragma GCC visibility pop

#endif
