/* SPDX-License-Identifier: MIT */
/* A variable of the source and a chain from it, from DWARF: see symbols/variable.h. */
#ifndef DT_SYMBOLS_DWARF_VARIABLE_H
#define DT_SYMBOLS_DWARF_VARIABLE_H

#include <elfutils/libdw.h>
#include "symbols/variable.h"

struct dt_variable_context {
	Dwarf_Die unit; /* that has the address */
	Dwarf *dwarf;	/* where a program's other units are */
	Elf *elf;	/* the file itself: it has the unwind tables */
	int language;
	uint64_t address;
	uint64_t body; /* where the function's prologue has ended; 0: not known */
};

int dt_dwarf_variable(const struct dt_variable_context *c, const char *expression,
		      struct dt_variable *v, struct dt_error *e);

#endif
