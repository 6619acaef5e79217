/* SPDX-License-Identifier: MIT */
/*
 * Arguments in full: what the record of a function's entry lacks of them. That record has the first
 * four integer registers; a point there captures the others: further registers, the vector
 * registers, the stack, and the texts that arguments lead to.
 *
 * Which ones: "path:str,mode,3:u4". A name is that of a parameter, a number counts them from 1;
 * where nothing is known of the function, it counts the integer registers. Behind the colon is how
 * it is shown: str, or a type of a signature (symbols/symtab.h); without one, as it is declared.
 */
#ifndef DT_SESSION_ARGUMENTS_H
#define DT_SESSION_ARGUMENTS_H

#include "hook/module.h"

/* Is that a list of arguments? */
int dt_arguments_check(const char *which, struct dt_error *e);

/*
 * Makes such a point, not added yet; which NULL: all of them. Sets bit i of *had (NULL: not wanted)
 * for each of the list's entries that the function has. 1; 0: there is nothing that the record
 * lacks, or nothing is known; -1: no memory.
 */
int dt_arguments_point(struct dt_file *f, const struct dt_function *function, const char *which,
		       uint64_t *had, struct dt_point *point);

/* The list's entries, of the first 64, that are not in `had', with commas between; "" for none. */
void dt_arguments_missing(const char *which, uint64_t had, char *out, size_t size);

#endif
