/* SPDX-License-Identifier: MIT */
/* Finding out, without running a program, what it will have mapped when it begins. */
#ifndef DT_PROCESS_NEEDED_H
#define DT_PROCESS_NEEDED_H

#include "elf/elf.h"

/*
 * Calls fn for each library that the program needs, with the name by which it is needed and its
 * path. The program's own dynamic linker (interp) lists them: it maps all, and runs no code of
 * them. -1: that was not possible.
 */
int dt_needed_each(const char *path, const char *interp,
		   void (*fn)(void *ctx, const char *name, const char *path), void *ctx);

/*
 * Looks whether the file imports functions that bring in code that it does not name: they load a
 * library, run another program, or look up something by a module of libc. True also when it is not
 * known.
 */
bool dt_needed_grows(struct dt_elf *f);

/*
 * Looks whether the program imports libc's swapcontext() or setcontext(), by which it changes from
 * one stack to another. To pair its calls (analyse/pair.c), these two must be recorded. False also
 * when the file can not be read.
 */
bool dt_needed_contexts(const char *path);

/* Looks whether the program is static: no dynamic linker is named that would map libraries for it.
 * False also when the file can not be read. */
bool dt_needed_none(const char *path);

#endif
