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

/* Tells it of this forked process. born: its birth has been told. */
void dt_request_process(bool born, bool wait);

/* called by hook.S */
void dt_modules_changed(void);
void dt_opt_out(void);
void dt_before_exec(uint64_t path);
void dt_before_execat(const uint64_t *argument); /* dirfd and path, as hook.S has pushed them */
void dt_after_exec(void);
#pragma GCC visibility pop

#endif
