/* SPDX-License-Identifier: MIT */
/* Reading numbers from a section byte by byte; beyond its end everything is 0, and noted. */
#ifndef DT_ELF_CURSOR_H
#define DT_ELF_CURSOR_H

#include <string.h>

#include "core/types.h"

/* A place in a section whose bytes are mapped at address. */
struct dt_frame_cursor {
	const uint8_t *p, *end;
	uint64_t address; /* of p */
	bool bad;
};

static inline uint64_t dt_take_bytes(struct dt_frame_cursor *c, unsigned n)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->p) < n) {
		c->bad = true;
		c->p = c->end;
		return 0;
	}
	memcpy(&v, c->p, n);
	c->p += n;
	c->address += n;
	return v;
}

static inline uint64_t dt_take_uleb(struct dt_frame_cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = (uint8_t)dt_take_bytes(c, 1);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
}

static inline int64_t dt_take_sleb(struct dt_frame_cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0;;) {
		uint8_t b = (uint8_t)dt_take_bytes(c, 1);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (b & 0x80)
			continue;
		if (b & 0x40 && shift < 64)
			v |= ~0ull << shift;
		return (int64_t)v;
	}
}

#endif
