/* SPDX-License-Identifier: MIT */
/*
 * Watches for the ends of processes. The owner thread sleeps on the bell (core/control.h), which
 * processes ring, but one that ends does not. A thread waits for that, and rings it. Without it the
 * owner thread notices in its next turn, some milliseconds later.
 */
#ifndef DT_SESSION_ENDS_H
#define DT_SESSION_ENDS_H

#include "hook/shared.h"

struct dt_ends;

/* Starts the thread, which rings the bell of `bell'. NULL: there are no descriptors or threads left
 * for it. */
struct dt_ends *dt_ends_watch(const struct dt_shared *bell);
/* Adds a process. pidfd: as in struct dt_target, which keeps it; -1 is allowed, and so is no watch.
 */
void dt_ends_add(struct dt_ends *w, int pidfd);
/* Ends the thread; NULL is allowed. */
void dt_ends_stop(struct dt_ends *w);

#endif
