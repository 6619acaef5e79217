/* SPDX-License-Identifier: MIT */
/*
 * Connecting a process's libc and dynamic linker to the area: _dl_debug_state (modules come and
 * go), execve, execveat (a new image follows), vfork, clone and clone3 (the child has no rseq yet).
 * Also the places where a program restricts its own system calls (elf/gates.h). Code is only
 * changed where its bytes are exactly those expected.
 */
#ifndef DT_HOOK_CONNECT_H
#define DT_HOOK_CONNECT_H

#include "hook/target.h"

/*
 * Plants the jumps that are not planted yet. still: no thread of the process runs user code (it is
 * stopped, or its only thread is in our slow path); otherwise this stops the threads meanwhile.
 * Returns -1 and the reason; t->busy is set when the threads could not be stopped.
 */
int dt_connect(struct dt_target *t, bool still, struct dt_error *e);

/* Returns how many places of the process are led through its area (all slots if the area can not be
 * read). */
size_t dt_connected(const struct dt_target *t);

/* Returns whether all gates of a module are led through the area. */
bool dt_connect_has_gates(struct dt_target *t, const struct dt_module *m);

/* Returns whether glibc's vfork and clone are led through the area, or the process has none: a
 * static program that does not use them. */
bool dt_connect_has_clones(struct dt_target *t);

/* Puts the replaced bytes back and verifies them. The caller has stopped all threads. */
int dt_disconnect(struct dt_target *t, struct dt_error *e);

#endif
