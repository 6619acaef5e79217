/* SPDX-License-Identifier: MIT */
/*
 * Signatures of the C library's functions, for a libc without debug information. They are valid
 * only for the C library's own files: elsewhere a function of such a name may be anything.
 */
#ifndef DT_SYMBOLS_PROTOTYPE_H
#define DT_SYMBOLS_PROTOTYPE_H

#include "core/types.h"

/* Is it the file of a C library, or of one of its parts? */
bool dt_prototype_file(const char *path);

/* Writes the signature of the function to buf, as dt_symtab_signature() or, if places, as
 * dt_symtab_places(); "" if the name is not known. */
void dt_prototype(const char *name, bool places, char *buf, size_t size);

/*
 * Writes the signature of the kernel's system call of that name, such as "read"; "" if it is not
 * known.
 */
void dt_prototype_call(const char *name, char *buf, size_t size);

#endif
