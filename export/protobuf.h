/* SPDX-License-Identifier: MIT */
/*
 * Writing messages of Protocol Buffers: fields by their numbers, and messages within messages. Each
 * message that is begun must be ended, the innermost first.
 */
#ifndef DT_EXPORT_PROTOBUF_H
#define DT_EXPORT_PROTOBUF_H

#include <string.h>
#include "store/varint.h"

/* The bytes so far. When memory is out, `failed' is set for good, and nothing more is added. */
struct dt_protobuf {
	struct dt_bytes bytes;
	bool failed;
};

enum { DT_WIRE_VARINT = 0, DT_WIRE_FIXED64 = 1, DT_WIRE_LENGTH = 2 };

/* Adds the key of a field, with room for its value. False: out of memory. */
static inline bool dt_protobuf_key(struct dt_protobuf *m, unsigned field, unsigned wire,
				   size_t room)
{
	m->failed = m->failed || dt_bytes_room(&m->bytes, 2 * DT_VARINT_MAX + room);
	if (!m->failed)
		dt_put_varint(&m->bytes, field << 3 | wire);
	return !m->failed;
}

/*
 * Adds a field of any integer type except the zigzag ones; a negative number is given as an int64.
 */
static inline void dt_protobuf_number(struct dt_protobuf *m, unsigned field, uint64_t v)
{
	if (dt_protobuf_key(m, field, DT_WIRE_VARINT, 0))
		dt_put_varint(&m->bytes, v);
}

static inline void dt_protobuf_fixed64(struct dt_protobuf *m, unsigned field, uint64_t v)
{
	if (!dt_protobuf_key(m, field, DT_WIRE_FIXED64, 8))
		return;
	for (unsigned i = 0; i < 8; i++)
		m->bytes.p[m->bytes.n++] = (uint8_t)(v >> 8 * i);
}

static inline void dt_protobuf_bytes(struct dt_protobuf *m, unsigned field, const void *p, size_t n)
{
	if (!dt_protobuf_key(m, field, DT_WIRE_LENGTH, n))
		return;
	dt_put_varint(&m->bytes, n);
	memcpy(m->bytes.p + m->bytes.n, p, n);
	m->bytes.n += n;
}

/* Begins a message as a field; returns what dt_protobuf_end() needs. */
static inline size_t dt_protobuf_begin(struct dt_protobuf *m, unsigned field)
{
	if (!dt_protobuf_key(m, field, DT_WIRE_LENGTH, 1))
		return 0;
	/* most messages are shorter than 128 bytes: then their length fits into this byte */
	return ++m->bytes.n;
}

static inline void dt_protobuf_end(struct dt_protobuf *m, size_t begin)
{
	size_t n = m->bytes.n - begin, more = 0;

	for (size_t v = n; v >= 0x80; v >>= 7)
		more++;
	m->failed = m->failed || dt_bytes_room(&m->bytes, more);
	if (m->failed)
		return;
	memmove(m->bytes.p + begin + more, m->bytes.p + begin, n);
	m->bytes.n = begin - 1;
	dt_put_varint(&m->bytes, n);
	m->bytes.n += n;
}

#endif
