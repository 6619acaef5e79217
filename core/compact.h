/* SPDX-License-Identifier: MIT */
/*
 * The compact line: records as text of about a quarter of the 121-byte line, from which all that it
 * holds is read back: kind, pc, ticks, thread, core, the values that are meant, and flags (not sp).
 * Every number is hexadecimal. A line means something only after the lines before it:
 *
 *	#devtrace-compact 1        the first line; others that begin with # are skipped
 *	@23c 1                     what follows is of thread 23c (-: of none), core 1
 *	%g 555555400000            base g, one of g to v
 *	E1136 88297eecd2e7 7be 5   kind; pc, from base g; ticks, since the record before; values
 *	Eh1150 1c 7be +10 . =      from base h; without a letter, from that of the record before,
 *	                           at first from g; the third value is not meant
 *	X11aa -2 1 !20             ticks may go back; flags
 *
 * A value is compared with the same one of the last record whose pc has the same slot, because
 * arguments mostly repeat where they are passed: "=" the same, "+d" and "-d" so much more and less,
 * else as it is. Slot: the low 10 bits of pc xor pc/2^10 xor pc/2^20; before any record its values
 * are 0.
 * Values that are not meant are "."; those at the end are left out.
 * A kind that is no letter is "?" and its two digits.
 */
#ifndef DT_CORE_COMPACT_H
#define DT_CORE_COMPACT_H

#include "core/record.h"

#define DT_COMPACT_BASES 16
#define DT_COMPACT_SLOTS 1024
#define DT_COMPACT_TEXT	 256 /* room that one record needs, with the lines before it */

/* What a writer and a reader know of the lines so far. Zero it at the beginning. */
struct dt_compact {
	bool begun, placed; /* placed: tid and core have been said */
	uint8_t bases;	    /* how many there are; then the oldest is replaced */
	uint8_t next;	    /* to be replaced */
	uint8_t current;    /* base of the record before */
	uint16_t core;
	uint32_t tid;
	uint64_t ticks;
	uint64_t base[DT_COMPACT_BASES];
	uint64_t last[DT_COMPACT_SLOTS][4]; /* values, by slot of the pc */
};

/* Writes the first line, unless it has been. dt_compact_put() does so itself. The length. */
size_t dt_compact_begin(struct dt_compact *c, char *out);

/* Writes a record, and what must be said before it; mask: which values are meant. The length. */
size_t dt_compact_put(struct dt_compact *c, char *out, const struct dt_record *r, unsigned mask);

/*
 * Takes one line, with its newline. 1: a record, with the values in *mask; 0: a line between
 * records; -1: not such a line. The record's sp and its number of values are 0.
 */
int dt_compact_get(struct dt_compact *c, const char *line, size_t n, struct dt_record *r,
		   unsigned *mask);

#endif
