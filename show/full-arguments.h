/* SPDX-License-Identifier: MIT */
/*
 * Arguments in full: the values that came in records after a call's entry, to be printed with the
 * call. They are kept for each call until its line is written.
 */
#ifndef DT_SHOW_FULL_ARGUMENTS_H
#define DT_SHOW_FULL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of all names and values of a call at most, so that a line has room for them. A value that
 * exceeds this is replaced by "...". */
#define DT_FULL_TEXT 24576

/* The name of what a call's result means, such as the file that a descriptor stands for. */
#define DT_FULL_RESULT "->"

/* The values of one call. */
struct dt_full {
	uint64_t call; /* its id */
	char *text;    /* name, NUL, value, NUL, and so on */
	size_t n, room;
};

/* The values of all open calls; the last call is the innermost. All zero: none. */
struct dt_fulls {
	struct dt_full *full;
	size_t n, room;
	bool failed; /* out of memory: values are missing */
};

/* Adds a value to a call: name_n bytes of name, n bytes of text. */
void dt_full_add(struct dt_fulls *f, uint64_t call, const char *name, size_t name_n,
		 const char *value, size_t n);

/* Returns a call's values, valid until the next change of f; NULL: it has none. */
const struct dt_full *dt_full_of(const struct dt_fulls *f, uint64_t call);

/* Removes a call's values from f and returns them; the caller frees `text'. All 0: it has none. */
struct dt_full dt_full_take(struct dt_fulls *f, uint64_t call);

/* Returns the last value of the name, of n bytes, as a string: what a function has filled in comes
 * after the pointer. NULL: there is none. */
const char *dt_full_value(const struct dt_full *f, const char *name, size_t n);

/* Frees a call's values: its line has been written, or never will be. */
void dt_full_forget(struct dt_fulls *f, uint64_t call);
/* Frees all values of all calls. */
void dt_fulls_free(struct dt_fulls *f);

#endif
