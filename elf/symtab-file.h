/* SPDX-License-Identifier: MIT */
/*
 * Finding the separate debug file of an ELF file, as distributions ship them: by build id
 * (DIR/.build-id/xx/yyyy.debug), by .gnu_debuglink (beside the file, in .debug/, under DIR), and
 * the file that dwz shares between several debug files.
 */
#ifndef DT_ELF_SYMTAB_FILE_H
#define DT_ELF_SYMTAB_FILE_H

#include "core/error.h"
#include <libelf.h>

#define DT_DEBUG_DIRS "/usr/lib/debug"

/* An open ELF file. The descriptor is needed until elf_end: sections are read when asked for. */
struct dt_symfile {
	char *path;
	int fd; /* -1: not open */
	Elf *elf;
	char build_id[65]; /* lower-case hex, "" when none */
};

int dt_symfile_open(struct dt_symfile *f, const char *path, struct dt_error *e);
/* Of a file that is open, and is closed with it, also when this fails. */
int dt_symfile_begin(struct dt_symfile *f, int file, const char *path, struct dt_error *e);
void dt_symfile_close(struct dt_symfile *f);

/* Of a process apart, which may not open them: what lies beside its file and is called as
 * .gnu_debuglink says; -1: none. */
extern int dt_symfile_beside[2];

/* Opens the debug file of main; false when there is none. dirs: separated by ':'. */
bool dt_symfile_debug(struct dt_symfile *debug, const struct dt_symfile *main, const char *dirs);

/* Opens the file that .gnu_debugaltlink of f names; false when it names none or it is missing. */
bool dt_symfile_alt(struct dt_symfile *alt, const struct dt_symfile *f, const char *dirs);

/* The section of that name, NULL when there is none. */
Elf_Scn *dt_symfile_section(const struct dt_symfile *f, const char *name);

/* The bytes of the section that is loaded at address, from there on, and how many; NULL: there is
 * none, or the file does not have them. They live as long as elf. */
const uint8_t *dt_symfile_bytes(Elf *elf, uint64_t address, size_t *left);

#endif
