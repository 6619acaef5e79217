/* SPDX-License-Identifier: MIT */
/* Where the threads of a process keep their id, their rseq block and errno. */
#ifndef DT_HOOK_TARGET_THREADS_H
#define DT_HOOK_TARGET_THREADS_H

#include "hook/target.h"

/*
 * Finds out where threads keep their id and rseq block, makes the rseq hooks, and has the modules
 * use them. fs is the thread pointer of the thread tid; stopped: that thread is ptrace-stopped.
 * Returns false when the process has no rseq (yet).
 */
bool dt_target_find_threads(struct dt_target *t, pid_t tid, uint64_t fs, bool stopped);

/* Returns whether no dynamic linker will tell us of the process's modules. */
bool dt_target_is_static(const struct dt_target *t);

/*
 * Lets such a program, whose first thread we have stopped by ptrace before its first instruction,
 * run until its libc has set up the thread's block, but no longer than `patience' ns; then does as
 * dt_target_find_threads(). Returns -1 if the process has ended.
 */
int dt_target_begin(struct dt_target *t, pid_t tid, uint64_t patience);

/* Has the process's hooks look into no thread block any more: some thread has none, or is about to
 * begin with none. Returns -1 and an error. */
int dt_target_strange(struct dt_target *t, struct dt_error *e);

/*
 * Finds out where threads keep errno, and tells the hooks, if that is not known yet. It is not
 * known before libc has been relocated.
 */
void dt_target_find_errno(struct dt_target *t);

#endif
