/* SPDX-License-Identifier: MIT */
/*
 * Arguments in full: those that the record of a function's entry lacks. That record has the first
 * four integer registers. A point at the entry captures the others: further registers, the vector
 * registers, the stack, and the texts that arguments lead to.
 *
 * A list such as "path:str,mode,3:u4" says which arguments. A name is that of a parameter; a number
 * counts the parameters from 1, or the integer registers where nothing is known of the function.
 * After the colon stands how the argument is shown: str, or a type of a signature
 * (symbols/symtab.h); without a colon it is shown as it is declared.
 */
#ifndef DT_SESSION_ARGUMENTS_H
#define DT_SESSION_ARGUMENTS_H

#include "hook/module.h"

/* Looks whether `which' is a list of arguments; returns 0, or -1 and an error. */
int dt_arguments_check(const char *which, struct dt_error *e);

/*
 * Makes the point that captures the listed arguments of a function; which NULL: all of them. The
 * point is the caller's, to be added to the file or released. Sets bit i of *had (NULL: not wanted)
 * when the function has the list's i-th argument. Returns 1; 0 and no point when there is nothing
 * that the record lacks, or nothing is known of the function; -1 when there is no memory.
 */
int dt_arguments_point(struct dt_file *f, const struct dt_function *function, const char *which,
		       uint64_t *had, struct dt_point *point);

/* Most points that dt_outputs_points() makes for a function's entry and one exit. */
#define DT_OUTPUTS 3

/*
 * Makes the points that record what a function has filled in when it returns (read's buffer, stat's
 * structure): first, for each, one that keeps its pointer at the function's entry; then, with
 * exits, one for the exit at that address, which may be that of a function to which this one jumps.
 * They are the caller's, to be added to the file or released. Returns how many; -1: no memory.
 */
int dt_outputs_points(struct dt_file *f, const struct dt_function *function, uint64_t exit,
		      struct dt_point *point);

/* Does the function fill in anything that is known? */
bool dt_outputs_has(struct dt_file *f, const struct dt_function *function);

/* Writes the names of those of the list's first 64 entries whose bits are not set in `had', with
 * commas between them; "" when there are none. */
void dt_arguments_missing(const char *which, uint64_t had, char *out, size_t size);

#endif
