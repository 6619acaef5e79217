/* SPDX-License-Identifier: MIT */
/*
 * What a pointer in a trace leads to: the function or variable of the traced program, or of one of
 * its libraries, by the files that were mapped, as long as they are still what they were (build
 * id).
 */
#ifndef DT_SHOW_POINTER_H
#define DT_SHOW_POINTER_H

#include "store/reader.h"

struct dt_pointers;

/* Bytes that dt_pointers_put() writes at most. */
#define DT_POINTER_TEXT 256

/* NULL: no memory. */
struct dt_pointers *dt_pointers_new(const struct dt_reader *r);
void dt_pointers_free(struct dt_pointers *p);

/* May some process of the trace have a function or variable at that address? */
bool dt_pointers_any(struct dt_pointers *p, uint64_t address);

/* The name of what process pid has at an address, and how far behind its beginning that is; NULL:
 * it has nothing there that is known. Valid until the next call. */
const char *dt_pointers_name(struct dt_pointers *p, uint32_t pid, uint64_t address,
			     uint64_t *offset);

/* " <name>" or " <name+1c>" of what process pid has at an address; nothing when it has none that is
 * known. Returns the end of what it wrote. */
char *dt_pointers_put(struct dt_pointers *p, char *out, uint32_t pid, uint64_t address);

#endif
