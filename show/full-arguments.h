/* SPDX-License-Identifier: MIT */
/*
 * Arguments in full: what came in records behind a call's entry, to be printed with the call. Kept
 * for each call until its line is written.
 */
#ifndef DT_SHOW_FULL_ARGUMENTS_H
#define DT_SHOW_FULL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of all values of a call, at most: a line must have room for them. More are cut, and shown
 * so. */
#define DT_FULL_TEXT 24576

struct dt_full {
	uint64_t call; /* its id */
	char *text;    /* name, NUL, value, NUL, and so on */
	size_t n, room;
};

/* Calls are inside each other: the last is the innermost. Zeroed: none. */
struct dt_fulls {
	struct dt_full *full;
	size_t n, room;
	bool failed; /* no memory */
};

/* A value that came for a call. */
void dt_full_add(struct dt_fulls *f, uint64_t call, const char *name, size_t name_n,
		 const char *value, size_t n);

/* NULL: nothing came for it. */
const struct dt_full *dt_full_of(const struct dt_fulls *f, uint64_t call);

/* Takes it out, for the caller to free(full->text); all 0: nothing came. */
struct dt_full dt_full_take(struct dt_fulls *f, uint64_t call);

/* The value of that name; NULL: none. */
const char *dt_full_value(const struct dt_full *f, const char *name, size_t n);

/* Its line is written, or never will be. */
void dt_full_forget(struct dt_fulls *f, uint64_t call);
void dt_fulls_free(struct dt_fulls *f);

#endif
