/* SPDX-License-Identifier: MIT */
/*
 * What the live-process code must know of an ELF file: where it is mapped, which interpreter it
 * wants, and its table of sleds (doc/sleds.md). All addresses are the file's own virtual addresses;
 * add the load bias for run-time ones. Every byte of the file is treated as hostile.
 */
#ifndef DT_ELF_ELF_H
#define DT_ELF_ELF_H

#include "core/error.h"
#include "core/site.h"

struct dt_elf_load {
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

struct dt_elf {
	char *path;
	uint16_t type;	  /* ET_EXEC or ET_DYN */
	uint16_t machine; /* DT_MACHINE: anything else is refused */
	uint64_t entry;
	uint64_t low, high; /* of all PT_LOADs, [low, high) */
	char *interp;	    /* PT_INTERP, NULL when there is none (static, or a library) */
	char soname[256];   /* that others ask for it by, "" when it has none */
	char build_id[65];  /* lower-case hex, "" when there is none */

	struct dt_elf_load *load;
	size_t loads;

	/* valid ones, sorted by address, each address once; until dt_file_probes() adds its own */
	struct dt_elf_site *site;
	size_t sites;
	size_t sleds, toggles; /* how many the file has itself: sleds; sleds and events */
	size_t bad_sites;      /* table entries left out: the bytes there are no such sled */
	uint64_t hooks;	       /* of the four hook slots, 0: the file has no sleds */
	uint64_t thunk_entry;  /* the module's thunks, 0 when no site leads there */
	uint64_t thunk_exit, thunk_jump;

	struct dt_elf_event *event; /* in the order of the table */
	size_t events;
	uint64_t event_hooks;	 /* of the four words for events, 0: the file has no events */
	uint64_t thunk_event[3]; /* by the first three of those words; behind each is a `ret' */
	char *event_table;	 /* that the names are in */

	/* of the reader itself */
	int fd;
	uint64_t file_size;
	struct dt_elf_section *section;
	size_t sections;
	uint32_t names; /* which section holds the sections' names */
};

/*
 * Opens path and checks that it is a non-empty regular file that can be read. Returns the
 * descriptor, or -1 and an error. With elf_only also that it begins as an ELF file does; a script
 * is refused by naming its interpreter.
 */
int dt_elf_file(const char *path, bool elf_only, struct dt_error *e);

/* The name in .gnu_debuglink, of the file that has its debug information; false: it has none that
 * is a mere name. */
bool dt_elf_debuglink(int fd, char *name, size_t size);

/* How files are opened: as open() does; from outside, where that may not (process/outside.h). */
extern int (*dt_elf_opens)(const char *path, int flags, int mode);

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

/*
 * The bytes of a section, with a NUL behind them; the caller frees them. vaddr may be NULL. NULL:
 * there is none of that name, or it does not fit into the file, or there is no memory.
 */
char *dt_elf_section(struct dt_elf *f, const char *name, uint64_t *size, uint64_t *vaddr);

/*
 * Where these n bytes (1 to 65536) are in a section of that name: the address of the only place. 0:
 * they are not there, or in several places, or it can not be read.
 */
uint64_t dt_elf_only(struct dt_elf *f, const char *name, const void *bytes, size_t n);

/* Is it where a probe can be, not one of the file's own? */
static inline bool dt_elf_is_probe(const struct dt_elf_site *s)
{
	return s->kind == DT_ELF_PROBE_ENTRY || s->kind == DT_ELF_PROBE_RETURN ||
	       s->kind == DT_ELF_PROBE_TAIL;
}

/* Is there executable code at address? */
bool dt_elf_is_code(const struct dt_elf *f, uint64_t address);

/* The site whose first byte is at address, or NULL. */
const struct dt_elf_site *dt_elf_site_at(const struct dt_elf *f, uint64_t address);

/* The event's site whose record has this pc, or NULL. */
const struct dt_elf_site *dt_elf_event_at(const struct dt_elf *f, uint64_t pc);

#endif
