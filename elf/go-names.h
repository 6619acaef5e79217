/* SPDX-License-Identifier: MIT */
/*
 * Names of Go's functions. Each Go program has a table of its functions for its own use (Go calls
 * it pclntab), which stays when the program is stripped. It is in the section .gopclntab or, in a
 * file without sections, where its first bytes are found. Every byte of it is treated as hostile.
 */
#ifndef DT_ELF_GO_NAMES_H
#define DT_ELF_GO_NAMES_H

#include <libelf.h>
#include "core/types.h"

/*
 * Calls fn for each function, ascending by address; the name belongs to elf, which is a file of
 * `size' bytes. fn returns false to stop. Returns false if the file has no such table, it is not
 * one of Go 1.2 to 1.25, or it is not sound, which may be found out after fn has been called for
 * some of its functions.
 */
bool dt_go_names(Elf *elf, uint64_t size,
		 bool (*fn)(void *ctx, uint64_t address, uint64_t bytes, const char *name),
		 void *ctx);

#endif
