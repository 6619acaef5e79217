/* SPDX-License-Identifier: MIT */
/*
 * The stubs of a module's sleds, on processors whose sleds lead to one (DT_SLED_STUB, arch/sled.h):
 * a region within reach of the module, with a way to each hook and a stub for each site. Where
 * sleds need none, no module has any. A hook records an address in a stub as its pc.
 */
#ifndef DT_HOOK_STUBS_H
#define DT_HOOK_STUBS_H

#include "hook/target.h"

/* Looks whether the module needs stubs to be switched, and has none yet: a thread of the process
 * has to be stopped for them. */
bool dt_stubs_are_missing(const struct dt_module *m);

/* Maps and writes the module's stubs, which lead to these hooks; those that are there get these
 * hooks. Owner thread, unless they are there. Where sleds need none, 0. */
int dt_stubs_make(struct dt_target *t, struct dt_module *m, const uint64_t hook[3],
		  struct dt_error *e);

/* Finds the stubs that the process's modules have from its parent, or from a controller that was
 * killed. */
int dt_stubs_find(struct dt_target *t, struct dt_error *e);

/* Returns the address of the stub of a site (index in the file's sites); 0: there is none. */
uint64_t dt_stubs_of(const struct dt_module *m, size_t site);

/* Returns the site whose hook records this pc; NULL: it is not in the module's stubs. */
const struct dt_elf_site *dt_stubs_site(const struct dt_module *m, uint64_t pc);

/* Sets [*low, *high) to where the stubs are, which a thread can be in; false: there are none. */
bool dt_stubs_code(const struct dt_module *m, uint64_t *low, uint64_t *high);

/* Unmaps all stubs of the process, also of modules that have gone. All threads are stopped, and
 * none is in there. What has been recorded is looked up in them still. */
int dt_stubs_remove(struct dt_target *t, pid_t tid, struct dt_error *e);
/* Forgets where they were, for a process that is to get others. */
void dt_stubs_forget(struct dt_target *t);

#endif
