/* SPDX-License-Identifier: MIT */
/* Functions of a symbol table by exact name: any of its names, demangled, linkage, or an alias. */
#ifndef DT_SYMBOLS_NAMES_H
#define DT_SYMBOLS_NAMES_H

#include "symbols/symtab.h"

struct dt_names;

/* Valid as long as the table. NULL: out of memory. */
struct dt_names *dt_names_make(const struct dt_symtab *t);
void dt_names_free(struct dt_names *n);

/* Calls fn for each function with that name, perhaps several times for one. */
void dt_names_find(const struct dt_names *n, const char *name,
		   void (*fn)(void *ctx, const struct dt_function *f), void *ctx);

#endif
