/* SPDX-License-Identifier: MIT */
/* What of writing code depends on the processor. */
#include "arch/emit.h"

#include <string.h>

bool dt_fix_apply(const struct dt_fix *f, uint8_t *bytes, uint64_t here, uint64_t there)
{
	uint64_t address;
	uint32_t low, high;
	int32_t distance;
	int64_t now;

	if (f->kind == DT_FIX_ADDRESS) {
		memcpy(&address, bytes + f->at, sizeof(address));
		address += there;
		memcpy(bytes + f->at, &address, sizeof(address));
		return true;
	}
	if (f->kind == DT_FIX_HALVES) {
		memcpy(&low, bytes + f->at, sizeof(low));
		memcpy(&high, bytes + f->at + 8, sizeof(high));
		address = ((uint64_t)high << 32 | low) + there;
		low = (uint32_t)address;
		high = (uint32_t)(address >> 32);
		memcpy(bytes + f->at, &low, sizeof(low));
		memcpy(bytes + f->at + 8, &high, sizeof(high));
		return true;
	}
	memcpy(&distance, bytes + f->at, sizeof(distance));
	now = distance + (int64_t)(there - here);
	distance = (int32_t)now;
	memcpy(bytes + f->at, &distance, sizeof(distance));
	return now == distance;
}

void dt_emit_jump(struct dt_emit *o, uint64_t to)
{
	static const uint8_t far[] = {0x3e, 0xff, 0x25, 0, 0, 0, 0};
	uint64_t next = dt_emit_here(o) + 5;

	if (dt_emit_reaches(next, to)) {
		dt_emit_byte(o, 0xe9);
		dt_emit_distance(o, next, to);
	} else {
		dt_emit_bytes(o, far, sizeof(far));
		dt_emit_address(o, to);
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
