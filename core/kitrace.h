/* SPDX-License-Identifier: MIT */
/*
 * Kitrace's line: where, when, how long since, and what was captured:
 *
 *	_sync+50 Nov 10 10:33:36.400674 (0.057871) g1=f80beb90 (_ufs_sync)
 *
 * It is for people: ticks, core and year are not in it, so it is not read back.
 */
#ifndef DT_CORE_KITRACE_H
#define DT_CORE_KITRACE_H

#include "core/record.h"

/* Beside the flags of a record. ADJACENT is obeyed, not shown. */
#define DT_KITRACE_LATEFREEZE 0x100
#define DT_KITRACE_ADJACENT   0x200

/* What the deltas are from. Zero it at the beginning. */
struct dt_kitrace {
	bool begun, based;
	uint64_t last, base; /* microseconds */
};

/* A captured word. */
struct dt_kitrace_item {
	const char *name; /* of the register, or what else it was captured from */
	uint64_t value;
	const char *symbol; /* what it points into; NULL: nothing known */
	uint64_t offset;
	const char *text; /* that it points to, printable; NULL: none. With value 0, nothing else */
	bool bad;	  /* it could not be read */
};

struct dt_kitrace_record {
	const char *symbol; /* NULL: offset is the whole address */
	uint64_t offset;
	uint64_t us; /* since 1970, in the time zone that is to be shown */
	bool date;   /* with month and day */
	unsigned flags;
	uint32_t tid; /* DT_NO_TID: not shown */
	const struct dt_kitrace_item *item;
	unsigned items;
};

/* Room for a line beside its symbols. */
#define DT_KITRACE_TEXT 512

/*
 * The parenthesis of a record is empty for the first one; else the time since the last record with
 * BASE if there is one, or since the record before. A record with BASE is itself measured from what
 * was the base until then, and so is one with ADJACENT, which ends that. Returns the length, with
 * the newline.
 */
size_t dt_kitrace_line(struct dt_kitrace *k, char *out, const struct dt_kitrace_record *r);

#endif
