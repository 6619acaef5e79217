/* SPDX-License-Identifier: MIT */
/* See emit.h. */
#include "arch/x86_64/emit.h"

#include <string.h>

void dt_emit_bytes(struct dt_emit *o, const void *bytes, size_t n)
{
	if (n && o->size <= o->room && n <= o->room - o->size)
		memcpy(o->bytes + o->size, bytes, n);
	o->size += n;
}

void dt_emit_byte(struct dt_emit *o, uint8_t b)
{
	dt_emit_bytes(o, &b, 1);
}

void dt_emit_u32(struct dt_emit *o, uint32_t v)
{
	dt_emit_bytes(o, &v, sizeof(v));
}

void dt_emit_u64(struct dt_emit *o, uint64_t v)
{
	dt_emit_bytes(o, &v, sizeof(v));
}

void dt_emit_jump(struct dt_emit *o, uint64_t to)
{
	static const uint8_t far[] = {0x3e, 0xff, 0x25, 0, 0, 0, 0};
	uint64_t next = dt_emit_here(o) + 5;

	if (dt_emit_reaches(next, to)) {
		dt_emit_byte(o, 0xe9);
		dt_emit_u32(o, (uint32_t)(to - next));
	} else {
		dt_emit_bytes(o, far, sizeof(far));
		dt_emit_u64(o, to);
	}
}

void dt_emit_land(struct dt_emit *o, size_t at)
{
	uint32_t d = (uint32_t)(o->size - at - 4);

	if (at + 4 <= o->room)
		memcpy(o->bytes + at, &d, sizeof(d));
}

void dt_emit_pad(struct dt_emit *o, unsigned n)
{
	while (o->size % n)
		dt_emit_byte(o, 0xcc);
}
