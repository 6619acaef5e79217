/* SPDX-License-Identifier: MIT */
/* Messages to the controller. */
#ifndef DT_TARGET_REQUEST_H
#define DT_TARGET_REQUEST_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/* Wakes the controller's reader. */
void dt_bell_ring(void);

/* The kernel sets FUTEX_OWNER_DIED in a robust futex when its owner ends, however it ends. */
bool dt_controller_is_gone(void);

/* Looks whether the controller still follows processes and modules. */
bool dt_controller_follows(void);

/*
 * Tells the controller something (DT_REQUEST_...). With wait, this returns when the controller has
 * dealt with it, or has gone.
 */
void dt_request_tell(uint32_t kind, bool wait);

/* Tells it that the program at `path', relative to dirfd, is about to be executed; dirfd -1: to the
 * working folder. Returns when it is ready for that. */
void dt_request_exec(uint64_t path, int dirfd);

/* Tells it of this forked process. born: its birth has been told. */
void dt_request_process(bool born, bool wait);

/* called by hook.S */
void dt_modules_changed(void);
void dt_opt_out(void);
#pragma GCC visibility pop

#endif
