/* SPDX-License-Identifier: MIT */
/* Shared by the files hook/target*.c, which hook and switch a process, and take that back. Not for
 * other files. */
#ifndef DT_HOOK_TARGET_WORK_H
#define DT_HOOK_TARGET_WORK_H

#include "hook/target.h"

#define PAGE 4096ull

/*
 * Computes the words through which the module's events find their hooks (include/devtrace.h). A
 * thread may be in a stub on its way to the thunk at any time: with area 0 the words lead it to the
 * `ret' after the thunk.
 */
void dt_target_event_words(const struct dt_module *m, uint64_t area, const uint64_t *hook,
			   uint64_t word[4]);

/* Looks whether the address is in the code of the target's area. */
bool dt_target_in_code(const struct dt_target *t, uint64_t address);

#endif
