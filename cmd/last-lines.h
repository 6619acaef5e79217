/* SPDX-License-Identifier: MIT */
/* The last of many lines about calls, by the time at which the calls ended: what is to be read
 * first, where a program has failed. */
#ifndef DT_CMD_LAST_LINES_H
#define DT_CMD_LAST_LINES_H

#include "core/types.h"

struct dt_last_line {
	uint64_t end; /* ticks */
	uint32_t tid;
	char *text; /* with its newline */
	size_t n;   /* bytes */
};

/* Set `most', all else zero; then dt_last_lines_free(). */
struct dt_last_lines {
	unsigned most;		   /* lines that are remembered */
	struct dt_last_line *line; /* in the order of time */
	unsigned n;
	uint64_t total; /* lines there were */
	bool no_memory;
};

/* Takes a line; lines may come in any order. */
void dt_last_lines_add(struct dt_last_lines *l, uint64_t end, uint32_t tid, const char *text,
		       size_t n);

void dt_last_lines_free(struct dt_last_lines *l);

#endif
