/* SPDX-License-Identifier: MIT */
/* On how many threads a command reads: its option -j. */
#ifndef DT_CMD_JOBS_H
#define DT_CMD_JOBS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: -j was not given. */
struct dt_jobs {
	unsigned threads; /* 0: as many as fit */
};

#define DT_JOBS_MOST 256

#define DT_JOBS_HELP                                                                                   \
	"  -j, --jobs N         read on N threads; otherwise on the cores that this process may use\n" \
	"                       if the trace is long enough. What is printed is the same\n"

/* Takes the value of the option. False: it is no number of threads, which has been reported. */
bool dt_jobs_parse(struct dt_jobs *j, const char *text);

/* Returns on how many threads so many records are to be read. */
unsigned dt_jobs_for(const struct dt_jobs *j, uint64_t records);

#endif
