/* SPDX-License-Identifier: MIT */
/* What the files that implement dwarf-type.h share. No other file includes this. */
#ifndef DT_SYMBOLS_DWARF_TYPE_WORK_H
#define DT_SYMBOLS_DWARF_TYPE_WORK_H

#include "symbols/dwarf-type.h"

/* Reads the attribute `name' as a number; returns false if it has none. */
bool dt_type_number(Dwarf_Die *die, unsigned name, uint64_t *value);
/* Is the flag `name' there and set? */
bool dt_type_flag(Dwarf_Die *die, unsigned name);
/* Returns the name of the entry, "" if it has none. */
const char *dt_type_name_of(Dwarf_Die *die);
/*
 * Returns the number of elements of an array type over all its dimensions; -1 if it is not known.
 */
int64_t dt_type_elements(Dwarf_Die *array);
/* Returns the size of a type in bytes; -1 if it is not known. depth: 0 for callers. */
int64_t dt_type_size_of(Dwarf_Die *type, int depth);

#endif
