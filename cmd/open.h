/* SPDX-License-Identifier: MIT */
/* What the commands that read a trace file have in common. */
#ifndef DT_CMD_OPEN_H
#define DT_CMD_OPEN_H

#include "process/confine.h"
#include "symbols/pattern.h"
#include "store/reader.h"

#define DT_DEFAULT_FILE "devtrace.db"

/* "devtrace: ..." and a newline on stderr; returns 1, the exit status of failure. */
int dt_cmd_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Confines itself to what is needed (process/confine.h), which may be NULL: to that and the trace,
 * and opens it: argv[optind], or the default when there is none. *status: 0, 1, or 2 with the usage
 * said.
 */
struct dt_reader *dt_cmd_open(int argc, char **argv, const char *usage, struct dt_needs *needs,
			      int *status);

/* The same without opening: files for a while are needed by all. Nothing more when it has been
 * done. 0, or the exit status and an error said. */
int dt_cmd_confine(struct dt_needs *needs);

/* "the usage is wrong": prints how to get help; returns 2. */

/* Words of others for a terminal: core/plain.h. Valid until seven more of this thread; s itself
 * where that is plain. */
const char *dt_cmd_plain(const char *s);
int dt_cmd_usage(const char *name);

/*
 * A duration as ticks: "10us", "1.5ms", "2s", "300ns"; a bare number is ticks.
 * False and an error said: it is none.
 */
bool dt_cmd_duration(const struct dt_reader *r, const char *text, uint64_t *ticks);

/* A point in time: with a unit, from the trace's first record; a bare number is that tick. */
bool dt_cmd_time(struct dt_reader *r, const char *text, uint64_t *ticks);

/* For each function row, whether the selection shows it. calloc'ed; NULL: out of memory. */
/*
 * Says on standard error, for each function that is shown and calls others that were chosen and
 * could not be hooked, that its own time includes theirs. shown: as dt_cmd_shown() gives it; file:
 * in front, or NULL.
 */
void dt_cmd_unhooked(struct dt_reader *r, const bool *shown, const char *file);

bool *dt_cmd_shown(const struct dt_reader *r, struct dt_selection *s);

/* Options that take text are kept until the trace is open. */
struct dt_range_options {
	const char *from, *to;
};

bool dt_cmd_range(struct dt_reader *r, const struct dt_range_options *o,
		  struct dt_reader_range *range);

/* What a record of a kind ("entry", "exit", "point") cost by itself, in ticks: hook/calibrate.h.
 * False: the trace does not say. */
struct dt_cmd_cost {
	double median, mean, deviation, interval;
	unsigned n;
};
bool dt_cmd_cost(const struct dt_reader *r, const char *kind, struct dt_cmd_cost *c);

/* The medians by the kinds of records, 256 of them, for struct dt_pair_events; false and an error
 * said: the trace does not tell them. */
bool dt_cmd_costs(const struct dt_reader *r, double *cost);

/* Says on stderr what the trace lacks, if anything: one line. */
void dt_cmd_say_lost(struct dt_reader *r);

#endif
