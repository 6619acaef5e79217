/* SPDX-License-Identifier: MIT */
/* Reading the map of an ELF file's code: core/code-map.h. */
#ifndef DT_SYMBOLS_CODE_H
#define DT_SYMBOLS_CODE_H

#include "core/code-map.h"
#include "core/error.h"
#include "elf/frames.h"
#include "symbols/symtab.h"

/*
 * Reads the code of path. symtab gives the names and outlives the map; without one there is
 * only what .eh_frame knows. NULL and an error when it is no ELF file, or has no code.
 */
struct dt_code *dt_code_open(const char *path, const struct dt_symtab *symtab, struct dt_error *e);
/* The same, here, of a file that is open, and is closed with it. */
struct dt_code *dt_code_open_file(int file, const char *path, const struct dt_symtab *symtab,
				  struct dt_error *e);
void dt_code_close(struct dt_code *c);

#endif
