/* SPDX-License-Identifier: MIT */
/*
 * Reads what the code for live processes must know of an ELF file: where it is mapped, which
 * interpreter it wants, and its table of sleds (doc/sleds.md). All addresses are the file's own
 * virtual addresses; add the load bias for run-time ones. Every byte of the file is treated as
 * hostile.
 */
#ifndef DT_ELF_ELF_H
#define DT_ELF_ELF_H

#include "core/error.h"
#include "core/site.h"

/* A PT_LOAD segment. */
struct dt_elf_load {
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

/* What has been read of a file. */
struct dt_elf {
	char *path;
	uint16_t type;	  /* ET_EXEC or ET_DYN */
	uint16_t machine; /* DT_MACHINE: anything else is refused */
	uint64_t entry;
	uint64_t low, high; /* bounds of all PT_LOADs: [low, high) */
	char *interp;	    /* PT_INTERP; NULL if there is none (static, or a library) */
	char soname[256];   /* the name by which others need it, "" if it has none */
	char build_id[65];  /* lower-case hex, "" if there is none */

	struct dt_elf_load *load;
	size_t loads;

	/*
	 * the valid sites, sorted by address, each address once. These are the file's own until
	 * dt_file_probes() adds probes.
	 */
	struct dt_elf_site *site;
	size_t sites;
	/* how many the file has itself: of sleds, and of sleds and events together */
	size_t sleds, toggles;
	size_t bad_sites;     /* table entries left out, because the bytes there are no such sled */
	uint64_t hooks;	      /* address of the four hook slots; 0: the file has no sleds */
	uint64_t thunk_entry; /* addresses of the module's thunks; 0: no site leads there */
	uint64_t thunk_exit, thunk_jump;

	struct dt_elf_event *event; /* in the order of the table */
	size_t events;
	uint64_t event_hooks; /* address of the four words for events; 0: the file has no events */
	uint64_t thunk_event[3]; /* thunks for the first three of those words; a `ret' follows each
				  */
	char *event_table;	 /* its text, into which the events' names point */

	struct dt_elf_answer *usual; /* used by dt_elf_symbol(): what was found of the names that
					are mostly asked for; NULL: nobody has asked yet */

	/* used by the reader only */
	int fd;
	uint64_t file_size;
	struct dt_elf_section *section;
	size_t sections;
	uint32_t names; /* index of the section that holds the section names */
};

/*
 * Opens path and checks that it is a non-empty regular file that can be read; with elf_only also
 * that it begins as an ELF file (the error for a script names its interpreter). Returns the
 * descriptor, or -1 with an error.
 */
int dt_elf_file(const char *path, bool elf_only, struct dt_error *e);

/* Reads the name in .gnu_debuglink: that of the file with its debug information. Returns false if
 * there is none, or it is more than a mere name. */
bool dt_elf_debuglink(int fd, char *name, size_t size);

/*
 * The function that opens files, like open(). It is replaced where open() is not allowed, to have
 * them opened by another process (process/outside.h).
 */
extern int (*dt_elf_opens)(const char *path, int flags, int mode);

/*
 * Reads path. Returns NULL and an error if it is not a program or library that this machine's
 * processor runs as 64-bit code. The caller closes it.
 */
struct dt_elf *dt_elf_open(const char *path, struct dt_error *e);
/* Frees f and closes its file; NULL is allowed. */
void dt_elf_close(struct dt_elf *f);

/*
 * Finds a defined symbol in .symtab or .dynsym. Returns 0, or -1 if there is none. size may be
 * NULL.
 */
int dt_elf_symbol(struct dt_elf *f, const char *name, uint64_t *vaddr, uint64_t *size);

/* A place in .got or .got.plt into which the dynamic linker puts a function's address. */
struct dt_elf_slot {
	uint64_t slot;	   /* its address */
	uint64_t function; /* the file's own function of the name that is looked up; 0: none */
	size_t site;	   /* the caller's own */
};

/*
 * Fills in the functions of n slots, which it sorts. A function of the same name in another file
 * may come before that of this one.
 */
void dt_elf_slot_functions(const struct dt_elf *f, struct dt_elf_slot *slot, size_t n);

/* Does the same, and calls fn for each slot of which the file names the function, with the name as
 * the linker has it. */
void dt_elf_slot_names(const struct dt_elf *f, struct dt_elf_slot *slot, size_t n,
		       void (*fn)(void *ctx, size_t site, const char *name), void *ctx);

/* Returns the index of the first site at or above address; f->sites if there is none. */
size_t dt_elf_site_from(const struct dt_elf *f, uint64_t address);

/*
 * Returns the bytes of a section, followed by a NUL; the caller frees them. vaddr may be NULL.
 * Returns NULL if there is no section of that name, it does not fit into the file, or there is no
 * memory.
 */
char *dt_elf_section(struct dt_elf *f, const char *name, uint64_t *size, uint64_t *vaddr);

/*
 * Returns the only address at which a section of that name has these n bytes (1 to 65536). Returns
 * 0 if they are not there, are in several places, or the section can not be read.
 */
uint64_t dt_elf_only(struct dt_elf *f, const char *name, const void *bytes, size_t n);

/* Is the site a place for a probe, rather than one of the file's own sites? */
static inline bool dt_elf_is_probe(const struct dt_elf_site *s)
{
	return s->kind == DT_ELF_PROBE_ENTRY || s->kind == DT_ELF_PROBE_RETURN ||
	       s->kind == DT_ELF_PROBE_TAIL;
}

/* Is there executable code at address? */
bool dt_elf_is_code(const struct dt_elf *f, uint64_t address);

/* Returns the site whose first byte is at address, or NULL. */
const struct dt_elf_site *dt_elf_site_at(const struct dt_elf *f, uint64_t address);

/* Returns the site of the event whose record has this pc, or NULL. */
const struct dt_elf_site *dt_elf_event_at(const struct dt_elf *f, uint64_t pc);

#endif
