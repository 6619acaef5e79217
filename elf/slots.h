/* SPDX-License-Identifier: MIT */
/*
 * The slots of an ELF file (in .got and .got.plt) into which the dynamic linker puts the addresses
 * of functions of other files.
 */
#ifndef DT_ELF_SLOTS_H
#define DT_ELF_SLOTS_H

#include <libelf.h>

#include "core/types.h"

/* Returns the name of the function that gets into the slot at address, from the file's string
 * table. fd: the file. NULL: there is no such slot, or the file defines its function itself. */
const char *dt_slot_name(Elf *elf, int fd, uint64_t address);

#endif
