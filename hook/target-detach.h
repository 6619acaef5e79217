/* SPDX-License-Identifier: MIT */
/* Leaving a traced process as it was. */
#ifndef DT_HOOK_TARGET_DETACH_H
#define DT_HOOK_TARGET_DETACH_H

#include "hook/target.h"

/*
 * Puts every byte back, verifies it, and unmaps the area. *left is how many bytes of code had to
 * stay mapped, because a thread may still return into them or because the process has confined
 * itself by seccomp; 0: none. Returns -1 and the reason.
 */
int dt_target_detach(struct dt_target *t, size_t *left, struct dt_error *e);

#endif
