/* SPDX-License-Identifier: MIT */
/* See emit.h. */
#include "arch/emit.h"

#include <stdlib.h>
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

void dt_emit_pin(struct dt_emit *o)
{
	if (o->fixes)
		o->fixes->pinned = true;
}

void dt_emit_fix(struct dt_emit *o, size_t at, enum dt_fix_kind kind, uint64_t to)
{
	struct dt_fixes *f = o->fixes;
	struct dt_fix *more;

	/* what lies in the buffer is moved with it */
	if (!f || (kind == DT_FIX_DISTANCE && to >= o->address && to < o->address + o->room))
		return;
	if (f->n == f->room) {
		f->room = f->room ? 2 * f->room : 64;
		more = realloc(f->fix, f->room * sizeof(*more));
		if (!more) {
			f->room = f->n;
			f->pinned = true;
			return;
		}
		f->fix = more;
	}
	f->fix[f->n++] = (struct dt_fix){(uint32_t)at, kind};
}

void dt_emit_address(struct dt_emit *o, uint64_t address)
{
	dt_emit_fix(o, o->size, DT_FIX_ADDRESS, address);
	dt_emit_u64(o, address);
}

void dt_emit_distance(struct dt_emit *o, uint64_t next, uint64_t to)
{
	dt_emit_fix(o, o->size, DT_FIX_DISTANCE, to);
	dt_emit_u32(o, (uint32_t)(to - next));
}
