/* SPDX-License-Identifier: MIT */
/*
 * What the hooks of a process must know beyond the records themselves: which modules' calls alone
 * are recorded at crossing sites (dt_file_is_crossing()), and where threads keep errno.
 */
#ifndef DT_HOOK_TARGET_FROM_H
#define DT_HOOK_TARGET_FROM_H

#include "hook/target.h"

/*
 * Tells the hooks which of the process's modules are callers (dt_file.caller). Where there are more
 * than DT_FROM_MAX of them, those mapped last are left out, and marked as failed, with the reason.
 */
int dt_target_from(struct dt_target *t, struct dt_error *e);

/*
 * Finds out where threads keep errno, and tells the hooks, if that is not known yet. It is not
 * known before libc has been relocated.
 */
void dt_target_find_errno(struct dt_target *t);

#endif
