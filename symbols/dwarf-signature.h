/* SPDX-License-Identifier: MIT */
/* The signature of one function, from its DWARF entry. */
#ifndef DT_SYMBOLS_DWARF_SIGNATURE_H
#define DT_SYMBOLS_DWARF_SIGNATURE_H

#include <elfutils/libdw.h>
#include "core/types.h"

struct dt_signature_context {
	int language;	  /* of the unit */
	bool rewrites;	  /* its compiler changes the parameters of local functions in place */
	bool local;	  /* the function is not visible outside the file */
	uint64_t address; /* its entry */
	bool places;	  /* all of them: dt_symtab_places() */
	Dwarf *keys;	  /* types have their keys: dt_type_key(). NULL: not */
};

/* buf: as dt_symtab_signature(); "" when not certain. */
void dt_dwarf_signature_text(Dwarf_Die *die, const struct dt_signature_context *c, char *buf,
			     size_t size);

#endif
