/* SPDX-License-Identifier: MIT */
/* Enumerations by name, and structures that came in registers by their members: what a trace says
 * of types (symbols/symtab.h), made ready for printing. */
#ifndef DT_SHOW_SHAPE_H
#define DT_SHOW_SHAPE_H

#include "store/reader.h"

struct dt_shape;

/* Bytes that dt_shape_put() writes at most. */
#define DT_SHAPE_TEXT 1600

struct dt_shapes {
	const struct dt_reader *reader;
	struct dt_shape *shape; /* by row */
	uint32_t shapes;
};

/* How a value without a shape is written: by the letter and the size of its type. At most 48 bytes.
 */
typedef char *dt_shape_plain_fn(char *p, char letter, unsigned size, uint64_t v);

/*
 * "RED", "READ|WRITE", "{x=1, y=2}": the value that is in low (and high, of more than 8 bytes), of
 * the type of that row and, of an enumeration, of so many bytes. NULL: it is no such type, or the
 * enumeration has no name for it.
 */
char *dt_shape_put(struct dt_shapes *s, char *p, uint32_t row, unsigned size, uint64_t low,
		   uint64_t high, dt_shape_plain_fn *plain);

void dt_shapes_free(struct dt_shapes *s);

#endif
