/* SPDX-License-Identifier: MIT */
/* How far long work has come, on a terminal: "42 % of 1000000 records" on standard error. */
#ifndef DT_CMD_PROGRESS_H
#define DT_CMD_PROGRESS_H

#include "store/reader.h"

struct dt_progress {
	uint64_t done, total; /* records */
	bool terminal, said;
	unsigned percent; /* that was said last */
	bool (*watch)(void *ctx,
		      uint64_t records); /* for work that goes past the reader; ctx: this */
};

/* Tells of each chunk that r reads, until the end of the work, which takes every record once. Also
 * lets it fail when cmd/output.h has been interrupted. p must stay where it is. */
void dt_progress_begin(struct dt_progress *p, struct dt_reader *r);
/* Leaves the terminal's line. */
void dt_progress_end(struct dt_progress *p, struct dt_reader *r);

#endif
