/* SPDX-License-Identifier: MIT */
/* Leaving a traced process as it was. */
#ifndef DT_HOOK_TARGET_DETACH_H
#define DT_HOOK_TARGET_DETACH_H

#include "hook/target.h"

/*
 * Puts every byte back, verifies it, and unmaps the area. *left: code that had to stay mapped
 * because a thread may still return into it (bytes; 0: none).
 */
int dt_target_detach(struct dt_target *t, size_t *left, struct dt_error *e);

#endif
