/* SPDX-License-Identifier: MIT */
/*
 * DWARF of one ELF file: source lines and signatures of functions by address. Nothing is read
 * before the first question; a compilation unit is read when the first question falls into it.
 */
#ifndef DT_SYMBOLS_DWARF_H
#define DT_SYMBOLS_DWARF_H

#include "elf/symtab-file.h"
#include "symbols/function.h"
#include "symbols/variable.h"

struct dt_dwarf;

/* NULL when the file has no DWARF. file must stay open; dirs: where dwz's shared files may be. */
struct dt_dwarf *dt_dwarf_open(const struct dt_symfile *file, const char *dirs);
void dt_dwarf_close(struct dt_dwarf *d);

bool dt_dwarf_line(struct dt_dwarf *d, uint64_t address, const char **file, unsigned *line);

/* The first instruction of a line of a file (its name, or the end of its path); false: it has none.
 */
bool dt_dwarf_address(struct dt_dwarf *d, const char *file, size_t length, unsigned line,
		      uint64_t *address);

/* As dt_variable_find(). elf: the file that is mapped, with its unwind tables. */
int dt_dwarf_variable_at(struct dt_dwarf *d, Elf *elf, uint64_t address, const char *expression,
			 struct dt_variable *v, struct dt_error *e);

/*
 * local: the symbol is not visible outside the file, so that the compiler may have changed the
 * way it is called. buf is "" when the signature is not known or does not fit.
 */
enum dt_dwarf_signature {
	DT_SIGNATURE_PLAIN,
	DT_SIGNATURE_KEYS,   /* as dt_symtab_described() */
	DT_SIGNATURE_PLACES, /* as dt_symtab_places() */
};
void dt_dwarf_signature(struct dt_dwarf *d, const struct dt_function *f, bool local,
			enum dt_dwarf_signature how, char *buf, size_t size);

/* As dt_symtab_type(). */
bool dt_dwarf_type(struct dt_dwarf *d, uint64_t key, char *buf, size_t size);

#endif
