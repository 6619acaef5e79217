/* SPDX-License-Identifier: MIT */
/*
 * Writing machine code that will run at a known address. Bytes that do not fit are counted and
 * dropped: the caller looks at size once, at the end, as with snprintf.
 */
#ifndef DT_ARCH_EMIT_H
#define DT_ARCH_EMIT_H

#include "core/types.h"

/* A buffer for code. */
struct dt_emit {
	uint8_t *bytes;
	size_t room;	  /* bytes that fit */
	size_t size;	  /* bytes written so far; more than room: some did not fit */
	uint64_t address; /* where bytes[0] will run */
};

/* Returns the address at which the next byte will run. */
static inline uint64_t dt_emit_here(const struct dt_emit *o)
{
	return o->address + o->size;
}

/* Looks whether a 32-bit distance, counted from `from', reaches `to'. */
static inline bool dt_emit_reaches(uint64_t from, uint64_t to)
{
	return (int64_t)(to - from) == (int32_t)(to - from);
}

/* Append bytes, one byte, or a number of 4 or 8 bytes. */
void dt_emit_bytes(struct dt_emit *o, const void *bytes, size_t n);
void dt_emit_byte(struct dt_emit *o, uint8_t b);
void dt_emit_u32(struct dt_emit *o, uint32_t v);
void dt_emit_u64(struct dt_emit *o, uint64_t v);
/* Appends filler that traps, up to a size that is a multiple of n bytes. */
void dt_emit_pad(struct dt_emit *o, unsigned n);

/*
 * Appends a jmp to any address, which changes no register and no flag: jmp rel32 if that reaches,
 * else a jmp through the eight bytes of address after it (15 bytes; its notrack prefix makes an
 * endbr64 at the target unnecessary).
 */
void dt_emit_jump(struct dt_emit *o, uint64_t to);

/* Sets the 32-bit distance at offset `at', which is the end of its instruction, so that it leads
 * here, to the next byte. */
void dt_emit_land(struct dt_emit *o, size_t at);

#endif
