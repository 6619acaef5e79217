/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions that may be chosen when a program begins (STT_GNU_IFUNC): such a symbol's
 * address is that of a resolver, which returns the function to be called.
 */
#ifndef DT_ELF_IFUNC_H
#define DT_ELF_IFUNC_H

#include <gelf.h>
#include "core/types.h"

/*
 * Finds the functions that a resolver may return, by its code: those whose addresses it takes or
 * finds in the file's tables (.got and others). Returns how many there are, at most `most'; 0 if
 * the code does not show it (it asks the kernel's vdso).
 */
size_t dt_ifunc_targets(Elf *elf, uint64_t resolver, uint64_t size, uint64_t *target, size_t most);

/* The functions of libc whose resolvers ask the kernel's vdso (vdso(7)), which is in no file
 * (hook/vdso.h). What libc has itself is for kernels without a vdso. */
#define DT_IFUNC_LEFT 2
extern const char *const dt_ifunc_left[DT_IFUNC_LEFT];

/* Looks whether the function of that name is one of these. */
bool dt_ifunc_is_left(const char *name);

#endif
