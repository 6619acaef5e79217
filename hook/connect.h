/* SPDX-License-Identifier: MIT */
/*
 * Connecting a process's libc and dynamic linker to the area: _dl_debug_state (modules come and
 * go), execve, execveat (a new image follows), vfork, clone and clone3 (the child has no rseq yet).
 * A function is only touched when its first bytes are exactly those expected.
 */
#ifndef DT_HOOK_CONNECT_H
#define DT_HOOK_CONNECT_H

#include "hook/target.h"

/*
 * Plants what is not planted yet. still: no thread of the process runs user code (it is stopped, or
 * its only thread is in our slow path); otherwise the threads are stopped for it.
 */
int dt_connect(struct dt_target *t, bool still, struct dt_error *e);

/* How many functions are led through the area of a process. */
size_t dt_connected(const struct dt_target *t);

/* Puts the replaced bytes back and verifies them. Threads are stopped. */
int dt_disconnect(struct dt_target *t, struct dt_error *e);

#endif
