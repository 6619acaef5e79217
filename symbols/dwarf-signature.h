/* SPDX-License-Identifier: MIT */
/* Makes the signature of one function from its DWARF entry. */
#ifndef DT_SYMBOLS_DWARF_SIGNATURE_H
#define DT_SYMBOLS_DWARF_SIGNATURE_H

#include <elfutils/libdw.h>
#include "core/types.h"

/* What is known of the function, and which form of its signature is wanted. */
struct dt_signature_context {
	int language;  /* of the unit */
	bool rewrites; /* its compiler may change the parameters of local functions without saying
			  so */
	bool local;    /* the function is not visible outside the file */
	uint64_t address; /* where the function begins */
	bool places;	  /* the places of all parameters are wanted: dt_symtab_places() */
	Dwarf *keys;	  /* types get their keys, from dt_type_key(); NULL: no keys */
};

/*
 * Writes the signature of the function die to buf, as dt_symtab_signature() does; "" if it is not
 * certain.
 */
void dt_dwarf_signature_text(Dwarf_Die *die, const struct dt_signature_context *c, char *buf,
			     size_t size);

#endif
