/* SPDX-License-Identifier: MIT */
/* What a program will have in it when it begins, found out without running it. */
#ifndef DT_PROCESS_NEEDED_H
#define DT_PROCESS_NEEDED_H

#include "elf/elf.h"

/*
 * Calls fn for each library that the program needs, with the name that it is needed by: what its
 * own dynamic linker lists, which maps them all and runs nothing of them. -1: that could not be
 * asked.
 */
int dt_needed_each(const char *path, const char *interp,
		   void (*fn)(void *ctx, const char *name, const char *path), void *ctx);

/*
 * Does the file call what brings in code that it does not name: load a library, run another
 * program, or look up what a module of libc answers? true as well when it can not be told.
 */
bool dt_needed_grows(struct dt_elf *f);

/*
 * Does the program change from one stack to another by libc's swapcontext() or setcontext()?
 * Whoever pairs its calls must have those two recorded: analyse/pair.c. false as well when it can
 * not be read.
 */
bool dt_needed_contexts(const char *path);

#endif
