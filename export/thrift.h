/* SPDX-License-Identifier: MIT */
/*
 * Thrift's compact protocol, as far as Parquet's headers need it: fields of a structure, in the
 * order of their numbers, and lists. Source: Apache Thrift, "Thrift Compact protocol encoding".
 */
#ifndef DT_EXPORT_THRIFT_H
#define DT_EXPORT_THRIFT_H

#include <string.h>

#include "export/varint.h"

enum {
	DT_THRIFT_TRUE = 1,
	DT_THRIFT_FALSE,
	DT_THRIFT_I32 = 5,
	DT_THRIFT_I64,
	DT_THRIFT_BINARY = 8,
	DT_THRIFT_LIST,
	DT_THRIFT_STRUCT = 12
};

/* Something that is being written. field: the number of the last field of the innermost structure;
 * those of the structures around it are in `outer'. */
struct dt_thrift {
	struct dt_json *to;
	int field, outer[8], depth;
};

/* Signed numbers are written as twice their size, odd where they are below 0. */
static inline void dt_thrift_zigzag(struct dt_thrift *t, int64_t v)
{
	dt_export_varint(t->to, dt_zigzag((uint64_t)v));
}

/* Begins a field; the value follows. Numbers must rise by at most 15 from one to the next. */
static inline void dt_thrift_field(struct dt_thrift *t, int field, int type)
{
	uint8_t head = (uint8_t)((field - t->field) << 4 | type);

	dt_json_bytes(t->to, &head, 1);
	t->field = field;
}

static inline void dt_thrift_i32(struct dt_thrift *t, int field, int32_t v)
{
	dt_thrift_field(t, field, DT_THRIFT_I32);
	dt_thrift_zigzag(t, v);
}

static inline void dt_thrift_i64(struct dt_thrift *t, int field, int64_t v)
{
	dt_thrift_field(t, field, DT_THRIFT_I64);
	dt_thrift_zigzag(t, v);
}

/* A text by itself, as an element of a list. */
static inline void dt_thrift_bytes(struct dt_thrift *t, const char *s)
{
	dt_export_varint(t->to, strlen(s));
	dt_json_bytes(t->to, s, strlen(s));
}

static inline void dt_thrift_text(struct dt_thrift *t, int field, const char *s)
{
	dt_thrift_field(t, field, DT_THRIFT_BINARY);
	dt_thrift_bytes(t, s);
}

/* Begins a list of n elements, which follow. */
static inline void dt_thrift_list(struct dt_thrift *t, int field, int type, uint32_t n)
{
	uint8_t head = (uint8_t)((n < 15 ? n : 15) << 4 | (unsigned)type);

	dt_thrift_field(t, field, DT_THRIFT_LIST);
	dt_json_bytes(t->to, &head, 1);
	if (n >= 15)
		dt_export_varint(t->to, n);
}

/* Begins a structure that is an element of a list, or, with a field, that field's. */
static inline void dt_thrift_begin(struct dt_thrift *t, int field)
{
	if (field)
		dt_thrift_field(t, field, DT_THRIFT_STRUCT);
	t->outer[t->depth++] = t->field;
	t->field = 0;
}

static inline void dt_thrift_end(struct dt_thrift *t)
{
	dt_json_bytes(t->to, "", 1);
	t->field = t->depth ? t->outer[--t->depth] : 0;
}

#endif
