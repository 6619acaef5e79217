/* SPDX-License-Identifier: MIT */
/*
 * The names by which a file may call functions of other files: those that it imports and, if it
 * looks names up by itself (dlsym), all texts in it that could be such a name. Every byte of the
 * file is treated as hostile.
 */
#ifndef DT_ELF_IMPORTS_H
#define DT_ELF_IMPORTS_H

#include "elf/elf.h"

struct dt_imports;

/* Reads the names. NULL: no memory. A file that imports nothing has no names. */
struct dt_imports *dt_imports_read(struct dt_elf *f);
/* Frees them; NULL is allowed. */
void dt_imports_free(struct dt_imports *m);

/* May it be one of the names? True of any name if the file has so many names, or such long ones,
 * that they have not all been read. */
bool dt_imports_has(const struct dt_imports *m, const char *name);

#endif
