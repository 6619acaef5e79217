/* SPDX-License-Identifier: MIT */
/*
 * Writing machine code that will run at a known address. Bytes that do not fit are counted and
 * dropped: the caller looks at size once, at the end, as with snprintf.
 */
#ifndef DT_ARCH_EMIT_H
#define DT_ARCH_EMIT_H

#include "core/types.h"

struct dt_emit {
	uint8_t *bytes;
	size_t room;
	size_t size;	  /* wanted so far; more than room: it did not fit */
	uint64_t address; /* where bytes[0] will run */
};

/* Where the next byte will run. */
static inline uint64_t dt_emit_here(const struct dt_emit *o)
{
	return o->address + o->size;
}

/* Is to within the reach of a 32-bit distance that ends at from? */
static inline bool dt_emit_reaches(uint64_t from, uint64_t to)
{
	return (int64_t)(to - from) == (int32_t)(to - from);
}

void dt_emit_bytes(struct dt_emit *o, const void *bytes, size_t n);
void dt_emit_byte(struct dt_emit *o, uint8_t b);
void dt_emit_u32(struct dt_emit *o, uint32_t v);
void dt_emit_u64(struct dt_emit *o, uint64_t v);
/* Filler that traps, up to a multiple of n bytes. */
void dt_emit_pad(struct dt_emit *o, unsigned n);

/*
 * jmp to any address, changing no register and no flag: jmp rel32 when it reaches, else through
 * eight bytes of address behind it (14 bytes; no endbr64 is needed there, for it says notrack).
 */
void dt_emit_jump(struct dt_emit *o, uint64_t to);

/* Sets the 32-bit distance at offset at, whose instruction ends behind it, to mean here. */
void dt_emit_land(struct dt_emit *o, size_t at);

#endif
