/* SPDX-License-Identifier: MIT */
#include "process/ahead.h"

#include <string.h>

#include "process/memory.h"

static bool has(const struct dt_ahead *a, uint64_t at, size_t n)
{
	return at >= a->low && at < a->high && n <= a->high - at;
}

/* Reads the stretch that the address lies in or, if not all of it is mapped, from there on. */
static void fill(struct dt_ahead *a, int mem, uint64_t at)
{
	uint64_t end = (at & ~(uint64_t)(DT_AHEAD - 1)) + DT_AHEAD;

	a->high = end;
	a->low = end - DT_AHEAD;
	if (dt_memory_read(mem, a->low, a->bytes, DT_AHEAD) == 0)
		return;
	a->low = at;
	if (dt_memory_read(mem, at, a->bytes, end - at) < 0)
		a->high = at;
}

bool dt_ahead_read(struct dt_ahead *a, int mem, uint64_t at, void *to, size_t n)
{
	if (!has(a, at, n))
		fill(a, mem, at);
	if (!has(a, at, n))
		return dt_memory_read(mem, at, to, n) == 0;
	memcpy(to, a->bytes + (at - a->low), n);
	return true;
}

void dt_ahead_note(struct dt_ahead *a, uint64_t at, uint8_t byte)
{
	if (has(a, at, 1))
		a->bytes[at - a->low] = byte;
}
