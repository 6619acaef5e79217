/* SPDX-License-Identifier: MIT */
/* What the files cmd/path*.c have in common. */
#ifndef DT_CMD_PATH_WORK_H
#define DT_CMD_PATH_WORK_H

#include "cmd/open.h"
#include "show/path.h"

/* One of the calls, or ranges, whose paths are wanted. */
struct dt_path_call {
	uint64_t begin, end; /* ticks */
	uint32_t tid;
	uint32_t function; /* 0: it is a range */
};

struct dt_path_shown {
	struct dt_reader *reader;
	struct dt_paths *paths;
	struct dt_path_said said;
	const struct dt_path_call *call; /* as many as there are paths */
	uint64_t first;			 /* ticks: the trace's first record */
	uint64_t rows;			 /* at most; 0: all */
	uint64_t of;			 /* so many calls there were */
	bool slowest;			 /* these are the slowest of them */
};

/* Print them; return the exit status. */
int dt_path_print_text(struct dt_path_shown *s);
int dt_path_print_json(struct dt_path_shown *s);

#endif
