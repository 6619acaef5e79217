/* SPDX-License-Identifier: MIT */
/* What is known of a function: by debug information, or by the prototype of a well-known library.
 */
#ifndef DT_SYMBOLS_DESCRIBED_H
#define DT_SYMBOLS_DESCRIBED_H

#include "symbols/symtab.h"

/*
 * Writes the signature of a function of the file at path, whose symtab is t, as
 * dt_symtab_described() or, if places, as dt_symtab_places(); "" if nothing is known of it. The
 * prototype is taken if there is one, unless debug information contradicts it.
 */
void dt_described(struct dt_symtab *t, const char *path, const struct dt_function *f, bool places,
		  char *buf, size_t size);

/* Writes what the key of a type in such a signature stands for: dt_symtab_type(). t
 * NULL: only prototypes' types are known. */
bool dt_described_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size);

#endif
