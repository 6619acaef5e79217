/* SPDX-License-Identifier: MIT */
/*
 * The compact line: records as text of about a quarter of the 121-byte line, from which everything
 * in that line is read back: kind, pc, ticks, thread, core, the values that the mask names, and
 * flags (not sp). Every number is hexadecimal. A line can be read only after all lines before it:
 *
 *	#devtrace-compact 1        the first line; others that begin with # are skipped
 *	@23c 1                     what follows is of thread 23c (-: of none), core 1
 *	%g 555555400000            base g, one of g to v
 *	E1136 88297eecd2e7 7be 5   kind; pc, from base g; ticks, since the record before; values
 *	Eh1150 1c 7be +10 . =      from base h; without a letter, from that of the previous record,
 *	                           at first from g; the mask lacks value 2
 *	X11aa -2 1 !20             ticks may go back; flags
 *
 * Each value is compared with the value at the same index of the last record whose pc has the same
 * slot, because the arguments of one function mostly repeat: "=" stands for an equal value, "+d"
 * and "-d" for one that is d greater or less; otherwise the value itself is written. The slot is
 * the low 10 bits of pc xor pc/2^10 xor pc/2^20; before its first record the values of a slot are
 * 0. Values that the mask does not name are "."; those at the end are left out. A kind that is not
 * a letter is "?" and its two digits.
 */
#ifndef DT_CORE_COMPACT_H
#define DT_CORE_COMPACT_H

#include "core/record.h"

#define DT_COMPACT_BASES 16
#define DT_COMPACT_SLOTS 1024
/* bytes that one record needs at most, with the lines that must precede it */
#define DT_COMPACT_TEXT 256

/* What a writer or a reader knows of the lines so far. It is zeroed at the beginning. */
struct dt_compact {
	bool begun, placed; /* begun: the first line is there; placed: tid and core are known */
	uint8_t bases;	 /* how many bases there are; once all are in use, the oldest is replaced */
	uint8_t next;	 /* the base to be replaced next */
	uint8_t current; /* base of the previous record */
	uint16_t core;
	uint32_t tid;
	uint64_t ticks; /* of the previous record */
	uint64_t base[DT_COMPACT_BASES];
	uint64_t last[DT_COMPACT_SLOTS][4]; /* values, by slot of the pc */
};

/*
 * Writes the first line unless it has been written; dt_compact_put() calls this itself. Returns the
 * length.
 */
size_t dt_compact_begin(struct dt_compact *c, char *out);

/*
 * Writes a record, after the lines that must precede it. Bit i of mask is set if value i is to be
 * written. Returns the length; out has room for DT_COMPACT_TEXT bytes.
 */
size_t dt_compact_put(struct dt_compact *c, char *out, const struct dt_record *r, unsigned mask);

/*
 * Reads one line of n bytes, newline included. Returns 1 for a record, with the values that it has
 * in *mask; 0 for a line that is no record; -1 if it is not a line of this format. The record's sp
 * and its number of values are 0.
 */
int dt_compact_get(struct dt_compact *c, const char *line, size_t n, struct dt_record *r,
		   unsigned *mask);

#endif
