/* SPDX-License-Identifier: MIT */
/*
 * Records as Kitrace prints them:
 *
 *	sync+10 10:31:49.423993 (12.858645) FREEZE BASE pid 7705
 *
 * Where, when, how long after the record before it or after the BASE in force (nothing for the
 *first one), flags, items. Source: Kitrace, Software: Practice and Experience 25(1), 1995, figures
 *2 to 8.
 */
#ifndef DT_CORE_KITRACE_H
#define DT_CORE_KITRACE_H

#include "core/record.h"

#define DT_KITRACE_LINE 256 /* enough for a line without its place */

/* What the differences are counted from. All zero: nothing yet. */
struct dt_kitrace {
	int64_t last, base; /* us */
	bool any, has_base;
};

struct dt_kitrace_event {
	const struct dt_record *record;
	const struct dt_record *more; /* the DT_MORE that goes with it: CONST. Or NULL */
	const char *place;	      /* "sync+10" */
	int64_t us;		      /* when: since 1970, in local time */
	bool date;		      /* say the day, too */
	bool pid;		      /* say the thread instead of the values */
};

/*
 * Writes the line and its newline, not terminated; returns the length. out has room for
 * DT_KITRACE_LINE and the place. A record that is itself BASE (or ADJACENT) is still counted from
 * what was in force before it.
 */
size_t dt_kitrace_line(struct dt_kitrace *k, char *out, const struct dt_kitrace_event *v);

#endif
