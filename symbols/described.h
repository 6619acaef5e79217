/* SPDX-License-Identifier: MIT */
/* What is known of a function: by debug information, or by the prototype of a well-known library.
 */
#ifndef DT_SYMBOLS_DESCRIBED_H
#define DT_SYMBOLS_DESCRIBED_H

#include "symbols/prototype.h"
#include "symbols/symtab.h"

/*
 * Writes the signature of a function of the file at path, whose symtab is t, as
 * dt_symtab_described() or, if places, as dt_symtab_places(); "" if nothing is known of it. The
 * prototype is taken if there is one, unless debug information contradicts it.
 */
void dt_described(struct dt_symtab *t, const char *path, const struct dt_function *f, bool places,
		  char *buf, size_t size);

/* Finds what the function fills in, as dt_prototype_outputs(), unless debug information contradicts
 * the prototype. */
unsigned dt_described_outputs(struct dt_symtab *t, const char *path, const struct dt_function *f,
			      struct dt_filled *out, unsigned most);

/* Writes what the key of a type in such a signature stands for: dt_symtab_type(). t
 * NULL: only prototypes' types are known. */
bool dt_described_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size);

#endif
