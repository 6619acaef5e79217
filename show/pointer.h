/* SPDX-License-Identifier: MIT */
/*
 * What a pointer in a trace leads to: a function or variable of the traced program or of one of its
 * libraries, or code that was made at run time. It is looked up in the files that were mapped, as
 * long as these are unchanged (by their build ids), and in what the trace has of code made at run
 * time.
 */
#ifndef DT_SHOW_POINTER_H
#define DT_SHOW_POINTER_H

#include "store/reader.h"

struct dt_pointers;

/* Bytes that dt_pointers_put() writes at most. */
#define DT_POINTER_TEXT 256

/* Returns NULL without memory. r must outlive the result. */
struct dt_pointers *dt_pointers_new(const struct dt_reader *r);
/* p may be NULL. */
void dt_pointers_free(struct dt_pointers *p);

/* Says whether the address may be inside a mapped file, or code made at run time, of any process of
 * the trace. */
bool dt_pointers_any(struct dt_pointers *p, uint64_t address);

/* Returns the name of the function or variable of process pid that contains the address, and in
 * *offset the distance from its beginning. NULL: none is known there. Valid until
 * dt_pointers_free(). */
const char *dt_pointers_name(struct dt_pointers *p, uint32_t pid, uint64_t address,
			     uint64_t *offset);

/* Writes " <name>" or " <name+1c>" as dt_pointers_name() finds it, or nothing where it finds none.
 * Returns the end of what it wrote; there is no NUL. */
char *dt_pointers_put(struct dt_pointers *p, char *out, uint32_t pid, uint64_t address);

#endif
