/* SPDX-License-Identifier: MIT */
/*
 * A jump through a table, read from the instructions in front of it: where the table is, and how
 * many entries it has, since a comparison of the index says so. For code of which nothing else
 * is known (code-called.c).
 */
#ifndef DT_SYMBOLS_CODE_SWITCH_H
#define DT_SYMBOLS_CODE_SWITCH_H

#include "arch/x86_64/insn.h"
#include "symbols/code-work.h"

#define DT_SWITCH_MOST 65536 /* entries of a table */

struct dt_switch {
	const uint8_t *bytes; /* of the table, in the file */
	uint64_t table;
	uint32_t entries;
	bool absolute; /* 64-bit addresses; otherwise 32-bit distances from the table */
};

/* false: it cannot be told. Where instructions begin in front of the jump has to be marked. */
bool dt_code_switch(const struct reader *r, const struct dt_insn *jump, struct dt_switch *s);

/* Where entry i leads. */
uint64_t dt_code_switch_to(const struct dt_switch *s, uint32_t i);

#endif
