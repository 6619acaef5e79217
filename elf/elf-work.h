/* SPDX-License-Identifier: MIT */
/* What elf.c, and elf-tables.c, share; for nobody else. */
#ifndef DT_ELF_ELF_WORK_H
#define DT_ELF_ELF_WORK_H

#include "elf/elf.h"

struct dt_elf_section {
	uint64_t vaddr, offset, size, entsize;
	uint32_t type, link, name;
};

/* size bytes at offset of the file; -1: they are not there. */
int dt_elf_read_at(const struct dt_elf *f, uint64_t offset, void *buf, uint64_t size);
/* The same, with a NUL behind it, so that any string in it ends. Caller frees. */
void *dt_elf_read_piece(const struct dt_elf *f, uint64_t offset, uint64_t size);

/* A section by its name; strings: the names, size bytes. NULL: there is none. */
const struct dt_elf_section *dt_elf_find_section(const struct dt_elf *f, const char *strings,
						 uint64_t size, const char *name);

/* Reads the tables of sleds and events, where there are any. names: which section has the sections'
 * names. */
int dt_elf_read_sites(struct dt_elf *f, uint32_t names, struct dt_error *e);

#endif
