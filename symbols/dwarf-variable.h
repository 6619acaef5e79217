/* SPDX-License-Identifier: MIT */
/*
 * Finds a variable of the source, and what a chain of members leads to from it, in DWARF: see
 * symbols/variable.h.
 */
#ifndef DT_SYMBOLS_DWARF_VARIABLE_H
#define DT_SYMBOLS_DWARF_VARIABLE_H

#include <elfutils/libdw.h>
#include "symbols/variable.h"

/* Where an expression is to be evaluated. */
struct dt_variable_context {
	Dwarf_Die unit; /* the unit that has the address */
	Dwarf *dwarf;	/* has the program's other units */
	Elf *elf;	/* the file itself, which has the unwind tables */
	int language;	/* of the unit */
	uint64_t address;
	uint64_t body; /* where the function's prologue ends; 0: not known */
};

/* Fills in *v for the expression at c->address. Returns 0, or -1 with an error. */
int dt_dwarf_variable(const struct dt_variable_context *c, const char *expression,
		      struct dt_variable *v, struct dt_error *e);

#endif
