/* SPDX-License-Identifier: MIT */
/* Shows on a terminal how far long work has come: "42 % of 1000000 records" on standard error. */
#ifndef DT_CMD_PROGRESS_H
#define DT_CMD_PROGRESS_H

#include "store/reader.h"

struct dt_progress {
	uint64_t done, total; /* records */
	bool terminal, said;  /* stderr is a terminal; a line has been begun */
	unsigned percent;     /* that was printed last */
	bool (*watch)(void *ctx,
		      uint64_t records); /* to be called, with ctx = this, by work that reads
					  * records without the reader; false: it is to stop */
};

/* Shows the progress of work that reads every record of r once, and lets the reader fail when
 * cmd/output.h was interrupted by a signal. p must not be moved until dt_progress_end(). */
void dt_progress_begin(struct dt_progress *p, struct dt_reader *r);
/* Ends the line on the terminal. */
void dt_progress_end(struct dt_progress *p, struct dt_reader *r);

#endif
