/* SPDX-License-Identifier: MIT */
/* What target.c, which hooks and switches, and target-detach.c, which takes that back, share; for
 * nobody else. */
#ifndef DT_HOOK_TARGET_WORK_H
#define DT_HOOK_TARGET_WORK_H

#include "hook/target.h"

#define PAGE 4096ull

/*
 * The words that an event's hooks are found through (include/devtrace.h). Threads may be in a stub
 * on their way to the thunk at any time: with area 0 they are led to the `ret' behind the thunk.
 */
void dt_target_event_words(const struct dt_module *m, uint64_t area, const uint64_t *hook,
			   uint64_t word[4]);

/* Is the address in the code of the target's area? */
bool dt_target_in_code(const struct dt_target *t, uint64_t address);

#endif
