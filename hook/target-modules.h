/* SPDX-License-Identifier: MIT */
/* The modules of a traced process. */
#ifndef DT_HOOK_TARGET_MODULES_H
#define DT_HOOK_TARGET_MODULES_H

#include "hook/target.h"

/* Frees what is known of the probes in t->old, without touching the process. */
void dt_target_free_old(struct dt_target *t);

/* Frees the target, without touching the process. t may be NULL. */
void dt_target_close(struct dt_target *t);

/* For a process that has ended and whose children are known: marks it as `last', and frees all that
 * is not needed to translate its records. */
void dt_target_fold(struct dt_target *t, struct dt_files *files);

/* For a process that has ended and whose records have all been read: frees its probes. Its modules
 * stay. */
void dt_target_leave(struct dt_target *t);

/*
 * Installs the area through the ptrace-stopped thread tid, and makes the rseq hooks if the process
 * has rseq already. dt_target_scan() then connects libc, and hooks and switches on the modules.
 */
int dt_target_install(struct dt_target *t, struct dt_targets *all, pid_t tid, struct dt_error *e);

/*
 * Looks for modules that came or went, connects libc if there is an area, and hooks and switches on
 * what is chosen in the new modules. A module in which nothing can be planted is left out, with the
 * reason in its `why'. -1: it can not be done at present (t->busy is set), or at all. quiet: no
 * thread of the process runs user code (its only thread waits for us in our slow path), so its text
 * can be patched without stopping it.
 */
int dt_target_scan(struct dt_target *t, struct dt_targets *all, bool quiet, struct dt_error *e);

/* Takes on a forked child of parent (NULL: not known), which has inherited the area at `area',
 * hooks, probes and switched sites. -1 and the reason. */
int dt_target_adopt(struct dt_target *t, struct dt_targets *all, uint64_t area,
		    const struct dt_target *parent, struct dt_error *e);

/* Forgets the modules that have gone, since all their records have been described. Their probes are
 * kept in t->shelf, in case they are mapped again. */
void dt_target_forget(struct dt_target *t);

/* Returns the module with text or trampolines at address, mapped or gone; NULL: none. */
struct dt_module *dt_target_module(struct dt_target *t, uint64_t address);

#endif
