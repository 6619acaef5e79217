/* SPDX-License-Identifier: MIT */
/* Reads the map of an ELF file's code: core/code-map.h. */
#ifndef DT_SYMBOLS_CODE_H
#define DT_SYMBOLS_CODE_H

#include "core/code-map.h"
#include "core/error.h"
#include "elf/frames.h"
#include "symbols/symtab.h"

/*
 * Reads the code of the file path. symtab gives the names, and must outlive the map; if it is NULL,
 * only the functions of .eh_frame are known. Returns NULL and an error if path is no ELF file or
 * has no code. The caller closes the map.
 */
struct dt_code *dt_code_open(const char *path, const struct dt_symtab *symtab, struct dt_error *e);
/*
 * As dt_code_open(), but reads an open file, in this process. The file is closed with the map, also
 * if this fails.
 */
struct dt_code *dt_code_open_file(int file, const char *path, const struct dt_symtab *symtab,
				  struct dt_error *e);
/* Frees the map; NULL is allowed. */
void dt_code_close(struct dt_code *c);

#endif
