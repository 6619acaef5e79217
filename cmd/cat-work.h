/* SPDX-License-Identifier: MIT */
/* Records that are being printed as lines: for cat*.c only. */
#ifndef DT_CMD_CAT_WORK_H
#define DT_CMD_CAT_WORK_H

#include "analyse/feed.h"
#include "cmd/cat-json.h"
#include "cmd/open.h"
#include "cmd/terminal.h"
#include "core/compact.h"
#include "core/kitrace.h"
#include "core/text.h"
#include "show/out.h"
#include "show/pointer.h"

#define LONGEST_NAME 4096 /* longer names are not shown: a line must fit into the buffer */

struct cat {
	struct dt_reader *reader;
	char format;   /* the option's letter; 0: lines of fixed columns */
	bool switches; /* context switches are shown */
	enum dt_layout layout;
	uint64_t lines, cut;	      /* cut: lines that do not hold all that was recorded */
	uint32_t *by_address, sorted; /* rows of functions sorted by address; their number */
	struct dt_pointers *pointers;
	struct dt_compact compact;
	struct dt_kitrace kitrace;
	/* of a fleet: the time of the record that is printed next, us since 1970; 0: its own */
	uint64_t fleet_us;
	struct dt_cat_json json;
	struct dt_out out;
	struct dt_terminal terminal;
	/* to print a running session's records instead of a file's */
	const char *session;
	bool live, follow, peek;
};

/* Prints a span. */
void dt_cat_span(struct cat *k, const struct dt_span *s);

/* Prints the records of a fleet, in the order of the fleet's time; k has the options. Returns the
 * exit status. */
int dt_cat_fleet(struct cat *k, const char *path, const struct dt_range_options *when);

#endif
