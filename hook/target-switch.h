/* SPDX-License-Identifier: MIT */
/* Hooking the modules of a traced process, and switching their sites. */
#ifndef DT_HOOK_TARGET_SWITCH_H
#define DT_HOOK_TARGET_SWITCH_H

#include "hook/target.h"

/*
 * Switches the sites of one file (NULL: of all), at the file's addresses from low to high
 * (inclusive), on or off as they are chosen; all off in a process that is not watched. When
 * `watched' changes, all sites of the process are switched.
 */
int dt_target_sync(struct dt_target *t, const struct dt_file *f, uint64_t low, uint64_t high,
		   bool watched, struct dt_error *e);

/* Looks whether dt_target_sync() would plant something, and so stop the process. Then only the
 * session's owner thread may call it. */
bool dt_target_wants(const struct dt_target *t, const struct dt_file *f, uint64_t low,
		     uint64_t high);

/* Switches the chosen sites that are toggled in place on or off, in all modules. Sites in
 * trampolines are left to dt_probes_sync(). */
int dt_target_switch(struct dt_target *t, bool on, struct dt_error *e);

/* Switches the process's sites off for good: it has asked that nothing be recorded of it. */
int dt_target_opt_out(struct dt_target *t, struct dt_error *e);

/* Writes the slots through which a module finds the hooks. Either nothing is switched on yet, or
 * all slots were valid before. */
int dt_target_hook(struct dt_target *t, struct dt_module *m, struct dt_error *e);
/* Hooks what is chosen of the modules that have not been hooked yet, and switches it on. */
int dt_target_hook_new(struct dt_target *t, struct dt_error *e);
/* Sets t->opted_out if the module has called DT_DISABLE_PROCESS(), in this session or before. */
void dt_target_note_opted_out(struct dt_target *t, const struct dt_module *m);

#endif
