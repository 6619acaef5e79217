/* SPDX-License-Identifier: MIT */
#include "arch/hook-call.h"

#include <string.h>

#define OVER                                                                                       \
	3 /* the lowest byte of each call's distance. A call that is off is a short jump by this   \
	     many bytes, over the rest of it */

/*
 * The thunks of a region. A call of a hook is switched off by its first byte, and then changes
 * nothing, not even flags: it is a jump to what follows it, over as many bytes as the first byte of
 * the call's distance says. That byte must be OVER, whatever the call's address is modulo 256: so
 * there are 256 thunks, LADDER bytes apart, which is an odd number.
 */
#define LADDER 7
#define RUNGS  256

/* Returns the address of the thunk whose distance from `next', the address after the call, has OVER
 * as its lowest byte. */
static uint64_t rung(uint64_t ladder, uint64_t next)
{
	/* LADDER times 183 is 1 modulo 256 */
	return ladder + LADDER * (uint8_t)((uint8_t)(next + OVER - ladder) * 183);
}

void dt_hook_call_emit(struct dt_emit *o, uint64_t way, bool on)
{
	uint64_t next = dt_emit_here(o) + DT_HOOK_CALL;

	dt_emit_byte(o, on ? DT_HOOK_CALL_ON : DT_HOOK_CALL_OFF);
	dt_emit_u32(o, (uint32_t)(rung(way, next) - next));
}

uint64_t dt_hook_call_target(uint64_t at, const uint8_t call[DT_HOOK_CALL])
{
	int32_t distance;

	memcpy(&distance, call + 1, sizeof(distance));
	return at + DT_HOOK_CALL + (uint64_t)(int64_t)distance;
}

void dt_hook_call_aim(uint64_t at, uint64_t way, uint8_t call[DT_HOOK_CALL])
{
	uint64_t next = at + DT_HOOK_CALL;
	uint32_t distance = (uint32_t)(rung(way, next) - next);

	memcpy(call + 1, &distance, sizeof(distance));
}

uint64_t dt_hook_way_size(bool switched)
{
	return LADDER * (switched ? RUNGS : 1);
}

void dt_hook_call_pop(struct dt_emit *o)
{
	static const uint8_t pop[DT_HOOK_CALL_POP] = {0x48, 0x8d, 0x64, 0x24,
						      0x08}; /* lea 8(%rsp), %rsp */

	dt_emit_bytes(o, pop, sizeof(pop));
}

void dt_hook_way_emit(struct dt_emit *o, uint64_t through, bool switched)
{
	for (unsigned n = switched ? RUNGS : 1; n; n--) {
		dt_emit_bytes(o, "\xff\x25", 2); /* jmp *through(%rip) */
		dt_emit_u32(o, (uint32_t)(through - dt_emit_here(o) - 4));
		dt_emit_byte(o, 0xcc);
	}
}
