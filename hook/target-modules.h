/* SPDX-License-Identifier: MIT */
/* The modules of a traced process. */
#ifndef DT_HOOK_TARGET_MODULES_H
#define DT_HOOK_TARGET_MODULES_H

#include "hook/target.h"

/* The probes in t->old are forgotten. */
void dt_target_free_old(struct dt_target *t);

void dt_target_close(struct dt_target *t);

/* It has ended, and its children are known: it is `last', and keeps what tells its records. */
void dt_target_fold(struct dt_target *t);

/* All its records have been read: its modules' names stay. */
void dt_target_leave(struct dt_target *t);

/*
 * Installs the area through the ptrace-stopped thread tid, connects libc, hooks and switches on
 * every module there is.
 */
int dt_target_install(struct dt_target *t, struct dt_targets *all, pid_t tid, struct dt_error *e);

/*
 * Looks for modules that came or went, and treats the new ones as the others; one in which nothing
 * can be planted is left out, and says why. -1: it can not be done now (t->busy), or at all. quiet:
 * the process is not running user code but in our slow path (its only thread waits for us), so its
 * text can be patched without stopping it.
 */
int dt_target_scan(struct dt_target *t, struct dt_targets *all, bool quiet, struct dt_error *e);

/* A forked child of parent (NULL: not known) that has inherited area, hooks, probes and switched
 * sites. */
int dt_target_adopt(struct dt_target *t, struct dt_targets *all, uint64_t area,
		    const struct dt_target *parent, struct dt_error *e);

/* What is remembered of modules that have gone is not asked for any more. */
void dt_target_forget(struct dt_target *t);

/* The module that has code at address, or had it before it went, or NULL. */
struct dt_module *dt_target_module(struct dt_target *t, uint64_t address);

#endif
