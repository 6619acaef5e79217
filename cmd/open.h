/* SPDX-License-Identifier: MIT */
/* What the commands that read a trace file have in common. */
#ifndef DT_CMD_OPEN_H
#define DT_CMD_OPEN_H

#include "analyse/chosen.h"
#include "filter/filter.h"
#include "process/confine.h"
#include "symbols/pattern.h"
#include "store/reader.h"

#define DT_DEFAULT_FILE "devtrace.db"

/* Prints "devtrace: ..." and a newline on stderr; returns 1, the exit status of failure. */
int dt_cmd_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Opens the trace argv[optind], or DT_DEFAULT_FILE when there is none. Before that the process
 * confines itself (process/confine.h) to the trace and to `needs', which may be NULL. On failure
 * returns NULL, and *status is the exit status: 1, or 2 when the usage is wrong; an error has been
 * reported.
 */
struct dt_reader *dt_cmd_open(int argc, char **argv, const char *usage, struct dt_needs *needs,
			      int *status);

/* Confines the process to `needs' and a folder for temporary files, which all commands need; does
 * nothing if that has been done. Returns 0, or the exit status after reporting an error. */
int dt_cmd_confine(struct dt_needs *needs);

/* Returns text from elsewhere in a form that is safe to print on a terminal (core/plain.h): s
 * itself, or a copy that is valid until seven more calls in this thread. */
const char *dt_cmd_plain(const char *s);
/* For wrong usage of the subcommand: prints how to get help; returns 2. */
int dt_cmd_usage(const char *name);

/*
 * Parses a duration to ticks: "10us", "1.5ms", "2s", "300ns"; a bare number is ticks.
 * False: it is none, which has been reported.
 */
bool dt_cmd_duration(const struct dt_reader *r, const char *text, uint64_t *ticks);

/* Parses a point in time: a duration with a unit counts from the trace's first record; a bare
 * number is the tick itself. False: an error has been reported. */
bool dt_cmd_time(struct dt_reader *r, const char *text, uint64_t *ticks);

/*
 * Says on standard error, for each function that is shown and calls others that were chosen but
 * could not be hooked, that its self time includes theirs. shown: from dt_cmd_shown(); file: a name
 * to put before each line, or NULL.
 */
void dt_cmd_unhooked(struct dt_reader *r, const bool *shown, const char *file);

/* Returns for each function row whether the selection shows it; for row 0, whether it shows what
 * no pattern names. The caller frees it; NULL: out of memory. */
bool *dt_cmd_shown(const struct dt_reader *r, struct dt_selection *s);

/* Makes the filter that -f WORDS asks for. NULL: the words are wrong, which has been reported. */
struct dt_filter *dt_cmd_filter(struct dt_reader *r, const char *words);

/* Returns whether it has a condition on a text, which times without what recording cost can not be
 * asked with: calls are known again by their time. This is reported. */
bool dt_cmd_filter_has_text(const struct dt_filter *f);

/* Frees it; says if it has asked about texts of which the trace has none. f may be NULL. */
void dt_cmd_filter_free(struct dt_filter *f);

/* What is said where there is no call that --failed or -f means. */
extern const char dt_cmd_none_failed[], dt_cmd_none_meant[];

/* Says on stderr how many calls a filter leaves out, if any. */
void dt_cmd_say_filtered(uint64_t taken, uint64_t all);

/* Returns whether the trace has context switches, without which it is not known what waited. False:
 * it has none, which has been reported. */
bool dt_cmd_switches(const struct dt_reader *r);

/* The texts of --from and --to, kept until the trace is open; NULL: not given. */
struct dt_range_options {
	const char *from, *to;
};

/* Sets the bounds of `range' that were given. False: a bound is no time, or the first is after the
 * second, which has been reported. */
bool dt_cmd_range(struct dt_reader *r, const struct dt_range_options *o,
		  struct dt_reader_range *range);

/* Reports that the first bound is after the second. Returns false. */
bool dt_cmd_range_refuse(const struct dt_range_options *o);

/* Fetches what writing a record of a kind ("entry", "exit", "point") cost, in ticks
 * (hook/calibrate.h): n measurements. False: the trace does not say. */
struct dt_cmd_cost {
	double median, mean, deviation, interval;
	unsigned n;
};
bool dt_cmd_cost(const struct dt_reader *r, const char *kind, struct dt_cmd_cost *c);

/* Fills 256 costs, by enum dt_kind, for struct dt_pair_events: the medians. False: the trace does
 * not have them, which has been reported. */
/* Says on stderr how many calls are a part of others (dt_pair_unfold()). shows: an option of the
 * command shows them. */
void dt_cmd_say_folded(uint64_t n, bool shows);

bool dt_cmd_costs(const struct dt_reader *r, double *cost);

/* Says how many calls are missing because a filter did not want them while recording. */
void dt_cmd_say_left_out(struct dt_reader *r);
/*
 * Says on stderr, in one line, how many records were lost, if any were; dt_cmd_say_lost() also what
 * dt_cmd_say_left_out() says; both also what dt_cmd_say_unseen() does. status: of the command so
 * far. Where it is 2 the command was not given right, so that nothing is shown that the losses
 * would concern, and nothing is said.
 */
void dt_cmd_say_records_lost(struct dt_reader *r, int status);
/* Says on stderr, a line each, what waits and cpu are not right by: for how long context switches
 * are missing, and for how long a hypervisor had the processors; if so. */
void dt_cmd_say_unseen(struct dt_reader *r);
/* The same where nobody had asked for switches: for commands that tell of waits. */
void dt_cmd_say_waits(struct dt_reader *r);
void dt_cmd_say_lost(struct dt_reader *r, int status);

#endif
