/* SPDX-License-Identifier: MIT */
/* Numbers as varints: seven bits a byte, the lowest first; all bytes but the last have the top bit
 * set. */
#ifndef DT_STORE_VARINT_H
#define DT_STORE_VARINT_H

#include <stdlib.h>
#include "store/chunk.h"

#define DT_VARINT_MAX 10 /* most bytes that a number takes */

/* Makes room for n more bytes. Returns -1 when out of memory. */
static inline int dt_bytes_room(struct dt_bytes *b, size_t n)
{
	size_t size = b->size ? b->size : 4096;
	uint8_t *p;

	if (b->n + n <= b->size)
		return 0;
	while (size < b->n + n)
		size *= 2;
	p = realloc(b->p, size);
	if (!p)
		return -1;
	b->p = p;
	b->size = size;
	return 0;
}

/* Appends v. The caller has made room for DT_VARINT_MAX bytes. */
static inline void dt_put_varint(struct dt_bytes *b, uint64_t v)
{
	while (v >= 0x80) {
		b->p[b->n++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	b->p[b->n++] = (uint8_t)v;
}

/* Makes room for n numbers and appends them. Returns -1 when out of memory. */
static inline int dt_put_varints(struct dt_bytes *b, const uint64_t *v, size_t n)
{
	if (dt_bytes_room(b, n * DT_VARINT_MAX))
		return -1;
	for (size_t i = 0; i < n; i++)
		dt_put_varint(b, v[i]);
	return 0;
}

/* Appends the numbers given as arguments: dt_put_varints(). */
#define DT_PUT(b, ...)                                                                             \
	dt_put_varints(b, (const uint64_t[]){__VA_ARGS__},                                         \
		       sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/*
 * The bytes that are still to be read; `bad' is set, and stays so, once they end within a number.
 */
struct dt_cursor_bytes {
	const uint8_t *p, *end;
	bool bad;
};

/* Reads a number; 0 when the bytes have ended, or it has more than 64 bits. */
static inline uint64_t dt_get_varint(struct dt_cursor_bytes *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (c->p == c->end)
			break;
		v |= (uint64_t)(*c->p & 0x7f) << shift;
		if (!(*c->p++ & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

#endif
