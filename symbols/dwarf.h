/* SPDX-License-Identifier: MIT */
/*
 * Reads the DWARF of one ELF file: source lines and signatures of functions by address. Nothing is
 * read before the first question; the functions of a compilation unit are read at the first
 * question about an address in it.
 */
#ifndef DT_SYMBOLS_DWARF_H
#define DT_SYMBOLS_DWARF_H

#include "elf/symtab-file.h"
#include "symbols/function.h"
#include "symbols/variable.h"

struct dt_dwarf;

/*
 * Opens the DWARF of a file; NULL if it has none, or there is no memory. file must stay open. dirs:
 * where dwz's shared files may be.
 */
struct dt_dwarf *dt_dwarf_open(const struct dt_symfile *file, const char *dirs);
/* Frees d, but does not close the file; NULL is allowed. */
void dt_dwarf_close(struct dt_dwarf *d);

/* As dt_symtab_line(). */
bool dt_dwarf_line(struct dt_dwarf *d, uint64_t address, const char **file, unsigned *line);

/* Finds the first instruction of a line of the file whose name, or end of path, is given. Returns
 * false if there is none. */
bool dt_dwarf_address(struct dt_dwarf *d, const char *file, size_t length, unsigned line,
		      uint64_t *address);

/* As dt_variable_find(). elf: the file itself, which has the unwind tables. */
int dt_dwarf_variable_at(struct dt_dwarf *d, Elf *elf, uint64_t address, const char *expression,
			 struct dt_variable *v, struct dt_error *e);

/*
 * Writes the signature of a function to buf, "" if it is not known or does not fit. local: the
 * symbol is not visible outside the file, so the compiler may have changed how the function is
 * called.
 */
enum dt_dwarf_signature {
	/* as dt_symtab_signature() */
	DT_SIGNATURE_PLAIN,
	DT_SIGNATURE_KEYS,   /* as dt_symtab_described() */
	DT_SIGNATURE_PLACES, /* as dt_symtab_places() */
};
void dt_dwarf_signature(struct dt_dwarf *d, const struct dt_function *f, bool local,
			enum dt_dwarf_signature how, char *buf, size_t size);

/* Does what dt_symtab_type() does. */
bool dt_dwarf_type(struct dt_dwarf *d, uint64_t key, char *buf, size_t size);

#endif
