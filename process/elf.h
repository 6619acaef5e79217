/* SPDX-License-Identifier: MIT */
/*
 * What the live-process code must know of an ELF file: where it is mapped, which interpreter it
 * wants, and its table of sleds (doc/sleds.md). All addresses are the file's own virtual addresses;
 * add the load bias for run-time ones. Every byte of the file is treated as hostile.
 */
#ifndef DT_PROCESS_ELF_H
#define DT_PROCESS_ELF_H

#include "core/error.h"

enum dt_elf_kind {
	DT_ELF_ENTRY = 1,
	DT_ELF_RETURN = 2,
	DT_ELF_TAIL = 3,
	/* of a file without sleds: where probes can be, process/probes.h */
	DT_ELF_PROBE_ENTRY = 5,
	DT_ELF_PROBE_RETURN = 6,
	DT_ELF_PROBE_TAIL = 7,
};

struct dt_elf_site {
	uint64_t address;  /* of the site's first byte */
	uint64_t function; /* that the site is in */
	uint64_t target;   /* of a tail jump: the function it leads to, or the PLT entry of one of
			    * another file; otherwise 0 */
	uint8_t kind;	   /* enum dt_elf_kind */
	bool jumps; /* an entry: the function has an indirect jump, so may end in an unseen tail
		       call */
};

struct dt_elf_load {
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

struct dt_elf {
	char *path;
	uint16_t type;	  /* ET_EXEC or ET_DYN */
	uint16_t machine; /* EM_X86_64: anything else is refused */
	uint64_t entry;
	uint64_t low, high; /* of all PT_LOADs, [low, high) */
	char *interp;	    /* PT_INTERP, NULL when there is none (static, or a library) */
	char build_id[65];  /* lower-case hex, "" when there is none */

	struct dt_elf_load *load;
	size_t loads;

	struct dt_elf_site *site; /* valid ones, sorted by address, each address once */
	size_t sites;
	size_t bad_sites;     /* table entries left out: the bytes there are no such sled */
	uint64_t hooks;	      /* of the four hook slots, 0: the file has no sleds */
	uint64_t thunk_entry; /* the module's thunks, 0 when no site leads there */
	uint64_t thunk_exit;

	/* of the reader itself */
	int fd;
	uint64_t file_size;
	struct dt_elf_section *section;
	size_t sections;
};

/*
 * Opens path and checks that it is a non-empty regular file that can be read. Returns the
 * descriptor, or -1 and an error. With elf_only also that it begins as an ELF file does; a script
 * is refused by naming its interpreter.
 */
int dt_elf_file(const char *path, bool elf_only, struct dt_error *e);

/*
 * Reads path; NULL and an error when it is not a program or library this machine's processor runs
 * as 64-bit code.
 */
struct dt_elf *dt_elf_open(const char *path, struct dt_error *e);
void dt_elf_close(struct dt_elf *f);

/* Finds a defined symbol in .symtab or .dynsym. 0, or -1 when there is none. size may be NULL. */
int dt_elf_symbol(struct dt_elf *f, const char *name, uint64_t *vaddr, uint64_t *size);

/* Index of the first site at or above address; f->sites: there is none. */
size_t dt_elf_site_from(const struct dt_elf *f, uint64_t address);

/* The site whose first byte is at address, or NULL. */
const struct dt_elf_site *dt_elf_site_at(const struct dt_elf *f, uint64_t address);

#endif
