/* SPDX-License-Identifier: MIT */
/*
 * Signatures of the C library's functions, for a libc without debug information. Only for the C
 * library's own file: elsewhere a function of such a name may be anything.
 */
#ifndef DT_SYMBOLS_PROTOTYPE_H
#define DT_SYMBOLS_PROTOTYPE_H

#include "core/types.h"

/* Is it the file of a C library, or of one of its parts? */
bool dt_prototype_file(const char *path);

/* As dt_symtab_signature(), or with places as dt_symtab_places(); buf is "" for a name that is not
 * known. */
void dt_prototype(const char *name, bool places, char *buf, size_t size);

/* The same for a system call of the kernel's by its name, as in "read". */
void dt_prototype_call(const char *name, char *buf, size_t size);

#endif
