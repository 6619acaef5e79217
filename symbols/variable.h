/* SPDX-License-Identifier: MIT */
/*
 * Finds variables of the source by DWARF: where they are at an instruction, and where chains from
 * them lead: "p->next->len", "argv[1]", "*count", "point.x", "&point". Variables may be local, a
 * file's, or the whole program's.
 */
#ifndef DT_SYMBOLS_VARIABLE_H
#define DT_SYMBOLS_VARIABLE_H

#include "arch/arch.h"
#include "core/error.h"

struct dt_symtab;

/* How to read a variable, and its type. */
struct dt_variable {
	struct dt_item item;
	char type[24]; /* as in described signatures: "i4", "e4#000002fa" */
};

/* Finds what the expression means at the address, which is an instruction. Returns 0, or -1 with
 * the reason: there is no such name or field, or the value is not in memory or a register there. */
int dt_variable_find(struct dt_symtab *t, uint64_t address, const char *expression,
		     struct dt_variable *v, struct dt_error *e);

#endif
