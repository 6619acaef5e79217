/* SPDX-License-Identifier: MIT */
/*
 * Finds the separate debug file of an ELF file, as distributions ship them: by build id
 * (DIR/.build-id/xx/yyyy.debug), by .gnu_debuglink (beside the file, in .debug/, under DIR), in
 * debuginfod's cache (elf/debug-cache.h), and the file that dwz shares between several debug files.
 */
#ifndef DT_ELF_SYMTAB_FILE_H
#define DT_ELF_SYMTAB_FILE_H

#include "core/error.h"
#include "elf/build-id.h"
#include <libelf.h>

#define DT_DEBUG_DIRS "/usr/lib/debug"

/*
 * An open ELF file. The descriptor stays open until elf_end(), because sections are read when they
 * are asked for.
 */
struct dt_symfile {
	char *path;
	int fd; /* -1: not open */
	Elf *elf;
	char build_id[DT_BUILD_ID]; /* lower-case hex, "" if there is none */
	void *image; /* the file, if it is one in memory (elf/mini.h), and its bytes */
	size_t image_size;
};

/* Opens the file path. Returns 0, or -1 with an error. */
int dt_symfile_open(struct dt_symfile *f, const char *path, struct dt_error *e);
/* As dt_symfile_open(), for an open file. The file is closed with f, and also if this fails. */
int dt_symfile_begin(struct dt_symfile *f, int file, const char *path, struct dt_error *e);
/* Frees what f holds, and closes its file. */
void dt_symfile_close(struct dt_symfile *f);

/* Descriptors for a separate process, which may not open files: two that lie beside its file and
 * have the name in .gnu_debuglink, and two that were downloaded; -1: none. */
#define DT_SYMFILE_HANDED 4
extern int dt_symfile_handed[DT_SYMFILE_HANDED];

#define DT_TRIED_MOST 32

/* Where debug files were looked for, and whether there was a file of that name. The texts belong to
 * whoever owns this. */
struct dt_symfile_tried {
	char *path[DT_TRIED_MOST];
	bool there[DT_TRIED_MOST];
	size_t n;
	bool spoiled; /* not all are here, or a file could not be read */
};

/* Where this thread's searches are noted; NULL: nowhere. */
extern _Thread_local struct dt_symfile_tried *dt_symfile_tries;
void dt_symfile_tried_free(struct dt_symfile_tried *t);
/* Notes where the file that .gnu_debuglink of an open file names is looked for. A separate process
 * may not be able to: its folder may be closed to it. */
void dt_symfile_note_link(int file, const char *path, const char *dir);

/* Opens the debug file of main; returns false if there is none. dirs: folders, separated by ':'. */
bool dt_symfile_debug(struct dt_symfile *debug, const struct dt_symfile *main, const char *dirs);

/*
 * Opens the file that .gnu_debugaltlink of f names; returns false if it names none or that is
 * missing.
 */
bool dt_symfile_alt(struct dt_symfile *alt, const struct dt_symfile *f, const char *dirs);

/* Writes the build id of the file that .gnu_debugaltlink of f names. False: it names none. */
bool dt_symfile_alt_id(const struct dt_symfile *f, char id[DT_BUILD_ID]);

/* Returns the section of that name, or NULL. */
Elf_Scn *dt_symfile_section(const struct dt_symfile *f, const char *name);

/* Returns the bytes from address to the end of the section that is loaded there, and their number
 * in *left. They live as long as elf. Returns NULL if there is no such section, or the file does
 * not have the bytes. */
const uint8_t *dt_symfile_bytes(Elf *elf, uint64_t address, size_t *left);

#endif
