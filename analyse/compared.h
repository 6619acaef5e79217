/* SPDX-License-Identifier: MIT */
/*
 * Which values of a call can be compared between two traces: those that both have, with the same
 * type. Pointers are not compared unless asked for, since addresses differ from run to run. The
 * signature says what is a pointer (symbols/symtab.h): p, s, and a structure that has one in it or
 * is not described; without a signature any value may be one.
 */
#ifndef DT_ANALYSE_COMPARED_H
#define DT_ANALYSE_COMPARED_H

#include "analyse/match.h"

#define DT_COMPARED 8 /* room for the values of a call: more than a record has */

struct dt_compared_value {
	uint8_t index; /* index into dt_call.argument, .result */
	uint64_t mask; /* bits of it that are compared: not the gaps in structures */
};

struct dt_compared {
	struct dt_compared_value argument[DT_COMPARED], result[DT_COMPARED];
	uint8_t arguments, results;
};

/* Returns an array, indexed by the functions of the match, that the caller frees. pointers: compare
 * them, too. NULL: out of memory. */
struct dt_compared *dt_compared_read(const struct dt_match *m, const struct dt_reader *const r[2],
				     bool pointers);

#endif
