/* SPDX-License-Identifier: MIT */
/*
 * The slots of an ELF file (in .got and .got.plt) into which the dynamic linker puts the addresses
 * of functions of other files, with the functions' names.
 */
#ifndef DT_ELF_SLOTS_H
#define DT_ELF_SLOTS_H

#include <libelf.h>

#include "core/types.h"

/* A slot. */
struct dt_slot {
	uint64_t address;
	const char *name; /* in the file's string table, or "" */
};

/* All slots of a file. */
struct dt_slots {
	struct dt_slot *slot; /* sorted by address */
	size_t n;
};

/* Reads the slots of symbols that the file does not define. If there is no memory, there are none.
 */
void dt_slots_read(struct dt_slots *s, Elf *elf);
/* Frees what s holds. */
void dt_slots_free(struct dt_slots *s);

/* Returns the name of the function that gets into the slot at address, or NULL. */
const char *dt_slots_find(const struct dt_slots *s, uint64_t address);

#endif
