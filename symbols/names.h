/* SPDX-License-Identifier: MIT */
/*
 * Finds functions of a symbol table by an exact name, which may be any of theirs: demangled,
 * linkage, or an alias.
 */
#ifndef DT_SYMBOLS_NAMES_H
#define DT_SYMBOLS_NAMES_H

#include "symbols/symtab.h"

struct dt_names;

/*
 * Makes the index of names; it must not be used after the table is closed. Returns NULL if there is
 * no memory.
 */
struct dt_names *dt_names_make(const struct dt_symtab *t);
/* Frees the index; NULL is allowed. */
void dt_names_free(struct dt_names *n);

/* Calls fn for each function with that name, perhaps several times for the same function. */
void dt_names_find(const struct dt_names *n, const char *name,
		   void (*fn)(void *ctx, const struct dt_function *f), void *ctx);

#endif
