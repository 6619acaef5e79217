/* SPDX-License-Identifier: MIT */
/* The modules of a process whose calls alone are recorded at crossing sites
 * (dt_file_is_crossing()). */
#ifndef DT_HOOK_TARGET_FROM_H
#define DT_HOOK_TARGET_FROM_H

#include "hook/target.h"

/*
 * Tells the hooks which of the process's modules are callers (dt_file.caller). Where there are more
 * than DT_FROM_MAX of them, those mapped last are left out, and marked (dt_module.unheard).
 */
int dt_target_from(struct dt_target *t, struct dt_error *e);

#endif
