/* SPDX-License-Identifier: MIT */
/*
 * Reading messages of Protocol Buffers: one field after the other
 * (https://protobuf.dev/programming-guides/encoding/). Groups, which nothing has used since 2008,
 * are an error.
 */
#ifndef DT_IMPORT_WIRE_H
#define DT_IMPORT_WIRE_H

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "store/varint.h"

enum { DT_WIRE_VARINT = 0, DT_WIRE_FIXED64 = 1, DT_WIRE_BYTES = 2, DT_WIRE_FIXED32 = 5 };

/* Bytes within a message; p NULL: the field is not there. */
struct dt_wire_bytes {
	const uint8_t *p;
	size_t n;
};

struct dt_wire_field {
	/* number and type as they are encoded: a switch over DT_WIRE_KEY() lets fields of another
	 * type than the expected one fall to the default */
	uint64_t key;
	uint64_t value; /* of all types but bytes; a fixed32 has no sign */
	struct dt_wire_bytes bytes;
};

#define DT_WIRE_KEY(number, type) ((uint64_t)(number) << 3 | (type))
#define DT_WIRE_NUMBER(number)	  DT_WIRE_KEY(number, DT_WIRE_VARINT)
#define DT_WIRE_TEXT(number)	  DT_WIRE_KEY(number, DT_WIRE_BYTES)

static inline struct dt_cursor_bytes dt_wire_begin(struct dt_wire_bytes b)
{
	return (struct dt_cursor_bytes){.p = b.p, .end = b.p ? b.p + b.n : NULL};
}

/* Takes the next field. False: there is none, or (c->bad) it is damaged. */
static inline bool dt_wire_next(struct dt_cursor_bytes *c, struct dt_wire_field *f)
{
	unsigned n = 0;

	if (c->p == c->end || c->bad)
		return false;
	*f = (struct dt_wire_field){.key = dt_get_varint(c)};
	switch (f->key & 7) {
	case DT_WIRE_VARINT:
		f->value = dt_get_varint(c);
		return !c->bad;
	case DT_WIRE_BYTES:
		f->bytes.n = dt_get_varint(c);
		f->bytes.p = c->p;
		c->bad |= f->bytes.n > (size_t)(c->end - c->p);
		if (!c->bad)
			c->p += f->bytes.n;
		return !c->bad;
	case DT_WIRE_FIXED64:
		n = 8;
		break;
	case DT_WIRE_FIXED32:
		n = 4;
		break;
	}
	if (!n || n > (size_t)(c->end - c->p))
		c->bad = true;
	for (unsigned i = 0; !c->bad && i < n; i++)
		f->value |= (uint64_t)*c->p++ << 8 * i;
	return !c->bad;
}

#endif
