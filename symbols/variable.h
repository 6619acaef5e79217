/* SPDX-License-Identifier: MIT */
/*
 * Variables of the source, by DWARF: where they are at an instruction, and where chains from them
 * lead: "p->next->len", "argv[1]", "*count", "point.x", "&point", a file's or a program's own.
 */
#ifndef DT_SYMBOLS_VARIABLE_H
#define DT_SYMBOLS_VARIABLE_H

#include "arch/arch.h"
#include "core/error.h"

struct dt_symtab;

struct dt_variable {
	struct dt_item item;
	char type[24]; /* as described signatures have it: "i4", "e4#000002fa" */
};

/* -1 and the reason: no such name there, no field of that name, not in memory or a register there.
 */
int dt_variable_find(struct dt_symtab *t, uint64_t address, const char *expression,
		     struct dt_variable *v, struct dt_error *e);

#endif
