/* SPDX-License-Identifier: MIT */
/* Hooking the modules of a traced process, and switching their sites. */
#ifndef DT_HOOK_TARGET_SWITCH_H
#define DT_HOOK_TARGET_SWITCH_H

#include "hook/target.h"

/*
 * Has the sites of one file (NULL: of all) at the file's addresses from low to high follow what is
 * chosen now; or be off, in a process that is not watched.
 */
int dt_target_sync(struct dt_target *t, const struct dt_file *f, uint64_t low, uint64_t high,
		   bool watched, struct dt_error *e);

/* Would that stop the process? Then only its owner thread may do it. */
bool dt_target_wants(const struct dt_target *t, const struct dt_file *f, uint64_t low,
		     uint64_t high);

/* Switches chosen sites on or off in all modules. */
int dt_target_switch(struct dt_target *t, bool on, struct dt_error *e);

/* The process wants nothing recorded any more: its sites go off, and stay so. */
int dt_target_opt_out(struct dt_target *t, struct dt_error *e);

/* Writes the slots that a module finds the hooks through: nothing is switched on yet, or all slots
 * were valid before. */
int dt_target_hook(struct dt_target *t, struct dt_module *m, struct dt_error *e);
/* What is chosen of the modules that have not been hooked yet. */
int dt_target_hook_new(struct dt_target *t, struct dt_error *e);
/* Has the module called DT_DISABLE_PROCESS(), in this session? Then so has the process. */
void dt_target_note_opted_out(struct dt_target *t, const struct dt_module *m);

#endif
