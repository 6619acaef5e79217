/* SPDX-License-Identifier: MIT */
/*
 * A jump through a table, read from the instructions in front of it: where the table is, and how
 * many entries it has, since a comparison of the index says so. For code of which nothing else
 * is known (symbols/code-called.c).
 */
#ifndef DT_ARCH_JUMP_TABLE_H
#define DT_ARCH_JUMP_TABLE_H

#include "arch/x86_64/insn.h"

#define DT_JUMP_TABLE_MOST 65536 /* entries of a table */

/* Code as it is known so far: where mark has the bit `begins', an instruction begins. */
struct dt_jump_table_code {
	uint64_t low; /* address of bytes[0] and mark[0]; both go on up to the jump */
	const uint8_t *bytes, *mark;
	uint8_t begins;
};

struct dt_jump_table {
	uint64_t table;
	uint32_t entries;
	uint8_t size; /* of an entry, bytes. 8: addresses; 4: distances from the table */
};

/* false: it cannot be told. fixed: the file is at a fixed address. */
bool dt_jump_table_find(const struct dt_jump_table_code *text, const struct dt_insn *jump,
			bool fixed, struct dt_jump_table *s);

/* Where entry i leads, with the table's bytes. */
uint64_t dt_jump_table_to(const struct dt_jump_table *s, const uint8_t *table, uint32_t i);

#endif
