/* SPDX-License-Identifier: MIT */
/*
 * JSON lines on standard output: an object a line, whose first member "type" says what it is of.
 * doc/json.md has them all. Times are in nanoseconds, and their names end in _ns.
 */
#ifndef DT_CMD_OBJECT_H
#define DT_CMD_OBJECT_H

#include <stdint.h>

/* Begins a line: {"type": "TYPE". */
void dt_object_begin(const char *type);
void dt_object_text(const char *name, const char *text); /* NULL: null */
void dt_object_number(const char *name, uint64_t v);
/* name: without _ns, which is added */
void dt_object_ns(const char *name, double ns);
void dt_object_real(const char *name, double v); /* no number, or infinite: null */
void dt_object_bool(const char *name, int v);
/* Begins a member whose value the caller prints: an object, a list. */
void dt_object_member(const char *name);
/* Ends the line. */
void dt_object_end(void);

#endif
