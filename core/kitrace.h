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

/* Flags in addition to those of a record. ADJACENT has its effect, but is not shown. */
#define DT_KITRACE_LATEFREEZE 0x100
#define DT_KITRACE_ADJACENT   0x200

/* What the time differences are measured from. It is zeroed at the beginning. */
struct dt_kitrace {
	bool begun, based;   /* there has been a record; there is a base */
	uint64_t last, base; /* microseconds: of the last record, of the base */
};

/* A captured value. */
struct dt_kitrace_item {
	const char *name; /* of the register or other place that it was captured from */
	uint64_t value;
	const char *symbol; /* the symbol that it points into; NULL: not known */
	uint64_t offset;
	const char *text; /* printable text that it points to; NULL: none. If value is 0, only the
			     text is shown */
	bool bad;	  /* the value could not be read */
};

/* What a line shows. */
struct dt_kitrace_record {
	const char *symbol; /* NULL: offset is the whole address */
	uint64_t offset;
	uint64_t us; /* since 1970, in the time zone that is to be shown */
	bool date;   /* month and day are shown */
	unsigned flags;
	uint32_t tid; /* DT_NO_TID: not shown */
	const struct dt_kitrace_item *item;
	unsigned items;
};

/* Bytes that a line needs at most, besides its symbols. */
#define DT_KITRACE_TEXT 512

/*
 * Writes the line and returns its length, with the newline. The parenthesis of the first record is
 * empty; otherwise it holds the time since the last record with BASE, or if there is none, since
 * the previous record. A record with BASE is itself measured from the base that was valid until
 * then. So is a record with ADJACENT, after which there is no base.
 */
size_t dt_kitrace_line(struct dt_kitrace *k, char *out, const struct dt_kitrace_record *r);

#endif
