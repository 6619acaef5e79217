/* SPDX-License-Identifier: MIT */
/*
 * Understanding a jump through a table from the instructions before it: where the table is, and how
 * many entries it has, which a comparison of the index tells. For code of which nothing else is
 * known (symbols/code-called.c).
 */
#ifndef DT_ARCH_JUMP_TABLE_H
#define DT_ARCH_JUMP_TABLE_H

#include "core/types.h"

#define DT_JUMP_TABLE_MOST 65536 /* entries of a table */

struct dt_insn;

/* Code as far as it is known. Where mark has the bit `begins', an instruction begins. */
struct dt_jump_table_code {
	uint64_t low; /* address of bytes[0] and mark[0]; both reach up to the jump */
	const uint8_t *bytes, *mark;
	uint8_t begins;
};

/* A table that a jump goes through. */
struct dt_jump_table {
	uint64_t table; /* its address in the file */
	uint32_t entries;
	uint8_t size; /* bytes of an entry. 8: it is an address; 4: a distance from the table */
};

/* Finds the table of a jump; false: that is not understood. fixed: the file is at a fixed address.
 */
bool dt_jump_table_find(const struct dt_jump_table_code *text, const struct dt_insn *jump,
			bool fixed, struct dt_jump_table *s);

/* Returns the address to which entry i leads. `table' are the table's bytes. */
uint64_t dt_jump_table_to(const struct dt_jump_table *s, const uint8_t *table, uint32_t i);

#endif
