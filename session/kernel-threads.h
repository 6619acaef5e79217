/* SPDX-License-Identifier: MIT */
/*
 * Threads of which only what they do in the kernel is recorded: their names, their processes, and
 * the programs of these. They are read from /proc when their first record is read; BPF programs
 * tell of those that have ended by then, and of what changes later. Where devtrace's module
 * records, nobody tells: a thread that has ended has no name there, and no process.
 */
#ifndef DT_SESSION_KERNEL_THREADS_H
#define DT_SESSION_KERNEL_THREADS_H

#include "session/state.h"

/* Returns NULL when out of memory. */
struct dt_kernel_threads *dt_kernel_threads_new(void);
void dt_kernel_threads_free(struct dt_kernel_threads *t);

/* Writes the thread of a record to the file, and its process, unless that has been done. With the
 * lock. */
void dt_kernel_threads_note(struct dt_session *s, const struct dt_record *r);
/* Takes in what the BPF programs have told since the last time. With the lock. */
void dt_kernel_threads_told(struct dt_session *s);

#endif
