/* SPDX-License-Identifier: MIT */
/*
 * The kernel's vdso as a file: code that answers system calls in the process itself (vdso(7)). It
 * is mapped from no file, and is the same in all processes that have no other one (32-bit code, a
 * process that was restored from elsewhere). So the controller's own is what is read; a process
 * could have anything there.
 */
#ifndef DT_HOOK_VDSO_H
#define DT_HOOK_VDSO_H

#include "hook/module.h"

#define DT_VDSO "[vdso]" /* its path in a process's mappings, and in traces */

/* Returns the vdso's file for a process that has it mapped at m; mem: its memory. NULL: what is
 * mapped there is something else, or it can not be read. The file is owned by `files'. */
struct dt_file *dt_file_of_vdso(struct dt_files *files, int mem, const struct dt_mapping *m);

#endif
