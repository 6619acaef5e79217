/* SPDX-License-Identifier: MIT */
/*
 * Writing machine code that will run at a known address. Bytes that do not fit are counted and
 * dropped: the caller looks at size once, at the end, as with snprintf.
 */
#ifndef DT_ARCH_EMIT_H
#define DT_ARCH_EMIT_H

#include "core/types.h"

/* What has to be changed where code that was written for one place is to run at another, while what
 * it leads to is moved by another distance. */
enum dt_fix_kind {
	DT_FIX_DISTANCE, /* 32 bits, or an instruction of aarch64: the distance to what lies outside
			  * the buffer */
	DT_FIX_ADDRESS,	 /* 64 bits: an address outside the buffer */
	DT_FIX_HALVES,	 /* its lower 32 bits, and eight bytes behind these the upper ones */
	DT_FIX_MOVS,	 /* one of 48 bits, in three instructions of aarch64 */
};

struct dt_fix {
	uint32_t at; /* offset of the number in the buffer, bytes */
	uint32_t kind;
};

/* All of these in a buffer; the caller frees `fix'. */
struct dt_fixes {
	struct dt_fix *fix;
	size_t n, room;
	bool pinned; /* the code is right at its own place only, or there was no memory */
};

/* A buffer for code. */
struct dt_emit {
	uint8_t *bytes;
	size_t room;		/* bytes that fit */
	size_t size;		/* bytes written so far; more than room: some did not fit */
	uint64_t address;	/* where bytes[0] will run */
	struct dt_fixes *fixes; /* where these are noted; NULL: nowhere */
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
/* Appends an address that is not in this buffer. */
void dt_emit_address(struct dt_emit *o, uint64_t address);
/* Appends the 32-bit distance to `to' from `next', where the instruction ends that it is part of.
 */
void dt_emit_distance(struct dt_emit *o, uint64_t next, uint64_t to);
/* Notes that a number at an offset in the buffer depends on where `to' is. */
void dt_emit_fix(struct dt_emit *o, size_t at, enum dt_fix_kind kind, uint64_t to);
/* Notes that the code is right at its own place only. */
void dt_emit_pin(struct dt_emit *o);
/* Changes the number of a fix (at f's offset in bytes) for code that has been moved by `here', and
 * leads to what has been moved by `there'. False: a distance is too long now. */
bool dt_fix_apply(const struct dt_fix *f, uint8_t *bytes, uint64_t here, uint64_t there);
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
