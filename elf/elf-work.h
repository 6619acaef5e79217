/* SPDX-License-Identifier: MIT */
/* What elf.c and elf-tables.c share. No other file includes this. */
#ifndef DT_ELF_ELF_WORK_H
#define DT_ELF_ELF_WORK_H

#include "elf/elf.h"

/* A section header, in the machine's byte order. */
struct dt_elf_section {
	uint64_t vaddr, offset, size, entsize;
	uint32_t type, link, name;
};

/* Reads size bytes at offset of the file into buf. Returns 0, or -1 if they are not there. */
int dt_elf_read_at(const struct dt_elf *f, uint64_t offset, void *buf, uint64_t size);
/*
 * Reads size bytes at offset into memory that the caller frees. A NUL follows them, so that every
 * string in them ends. Returns NULL if they are not there or there is no memory.
 */
void *dt_elf_read_piece(const struct dt_elf *f, uint64_t offset, uint64_t size);

/* Returns the section of that name, or NULL. strings: the section names, of size bytes. */
const struct dt_elf_section *dt_elf_find_section(const struct dt_elf *f, const char *strings,
						 uint64_t size, const char *name);

/* Reads the tables of sleds and events, if the file has any. names: index of the section that holds
 * the section names. Returns 0, or -1 with an error. */
int dt_elf_read_sites(struct dt_elf *f, uint32_t names, struct dt_error *e);

#endif
