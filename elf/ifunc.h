/* SPDX-License-Identifier: MIT */
/*
 * Functions that are chosen when a program begins (STT_GNU_IFUNC): their symbol's address is that
 * of a resolver, which returns the one to be called.
 */
#ifndef DT_ELF_IFUNC_H
#define DT_ELF_IFUNC_H

#include <gelf.h>
#include "core/types.h"

/*
 * The functions that a resolver of a file may return, by its code: whose addresses it takes, or
 * finds in the file's tables (.got and others). At most `most'; how many. None: it does not say (it
 * asks the kernel's vdso).
 */
size_t dt_ifunc_targets(Elf *elf, uint64_t resolver, uint64_t size, uint64_t *target, size_t most);

#endif
