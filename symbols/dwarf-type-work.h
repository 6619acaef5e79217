/* SPDX-License-Identifier: MIT */
/* What the parts of dwarf-type.h share; for nobody else. */
#ifndef DT_SYMBOLS_DWARF_TYPE_WORK_H
#define DT_SYMBOLS_DWARF_TYPE_WORK_H

#include "symbols/dwarf-type.h"

bool dt_type_number(Dwarf_Die *die, unsigned name, uint64_t *value);
bool dt_type_flag(Dwarf_Die *die, unsigned name);
const char *dt_type_name_of(Dwarf_Die *die);
/* Elements of an array type over all its dimensions; -1: not known. */
int64_t dt_type_elements(Dwarf_Die *array);
/* In bytes; -1: not known. */
int64_t dt_type_size_of(Dwarf_Die *type, int depth);

#endif
