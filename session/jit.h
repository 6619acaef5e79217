/* SPDX-License-Identifier: MIT */
/*
 * Names of the code that the session's processes make at run time. They are read from the files
 * that a process writes for perf (process/run-time.h) now and then while it runs, and when it has
 * ended or is let go; then they are written to the trace file. Owner thread.
 */
#ifndef DT_SESSION_JIT_H
#define DT_SESSION_JIT_H

#include <stddef.h>
#include <sys/types.h>

struct dt_session;
struct dt_target;

/* Notes a process that is taken into the session. */
void dt_session_jit_begin(struct dt_session *s, const struct dt_target *t);
/* Reads what the processes have written, if it is time for that. */
void dt_session_jit_look(struct dt_session *s);
/* Reads the last of it, of a process that has ended or is let go; 0: of all. With the lock. */
void dt_session_jit_end(struct dt_session *s, pid_t pid);

#endif
