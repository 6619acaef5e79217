/* SPDX-License-Identifier: MIT */
/* Printing values by the descriptions of types in a trace (symbols/symtab.h): enumerations by name,
 * and structures that were passed in registers by their members. */
#ifndef DT_SHOW_SHAPE_H
#define DT_SHOW_SHAPE_H

#include "store/reader.h"

struct dt_shape;

/* Bytes that dt_shape_put() writes at most. */
#define DT_SHAPE_TEXT 1600

/* The parsed descriptions of a trace. Set `reader', all else zero; then dt_shapes_free(). */
struct dt_shapes {
	const struct dt_reader *reader;
	const uint64_t *entry;	/* values of the entry of the call whose values are printed; NULL:
				   not known */
	const uint64_t *record; /* the four values of which one is printed; NULL: not known */
	struct dt_shape *shape; /* by row of the type */
	uint32_t shapes;
};

/* Writes a value without a description at p, by the letter and the size of its type: at most 48
 * bytes. Returns the end of what it wrote. */
typedef char *dt_shape_plain_fn(char *p, char letter, unsigned size, uint64_t v);

/*
 * Writes a value as "RED", "READ|WRITE" or "{x=1, y=2}" and returns the end of what it wrote. The
 * value is in low, and its upper half, where it has more than 8 bytes, in high; row is that of its
 * type; size, in bytes, is used for enumerations only. NULL: the row describes no enumeration or
 * aggregate, or the enumeration has no name for the value.
 */
char *dt_shape_put(struct dt_shapes *s, char *p, uint32_t row, unsigned size, uint64_t low,
		   uint64_t high, dt_shape_plain_fn *plain);

void dt_shapes_free(struct dt_shapes *s);

#endif
