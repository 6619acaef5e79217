/* SPDX-License-Identifier: MIT */
/* A report that is being made: for report.c (its options, and what is read), report-table.c,
 * report-columns.c and report-json.c only. */
#ifndef DT_CMD_REPORT_WORK_H
#define DT_CMD_REPORT_WORK_H

#include "analyse/chosen.h"
#include "analyse/groups.h"
#include "analyse/missed.h"
#include "analyse/stats.h"
#include "cmd/fields.h"
#include "cmd/jobs.h"
#include "cmd/open.h"
#include "cmd/reasons.h"
#include "cmd/terminal.h"
#include "filter/failures.h"
#include "store/sites.h"

enum dt_report_field {
	DT_REPORT_TOTAL,
	DT_REPORT_SELF,
	DT_REPORT_CPU,
	DT_REPORT_WAIT,
	DT_REPORT_SELFWAIT,
	DT_REPORT_CALLS,
	DT_REPORT_AVG,
	DT_REPORT_STDDEV,
	DT_REPORT_MIN,
	DT_REPORT_P50,
	DT_REPORT_P90,
	DT_REPORT_P95,
	DT_REPORT_P99,
	DT_REPORT_P999,
	DT_REPORT_MAX,
	DT_REPORT_FIELDS
};

#define DT_REPORT_WHYS 8

/* What a run took beside the calls: report-run.c. */
struct dt_report_run {
	bool wanted; /* the caller sets it before anything is read */
	struct dt_report_thread *thread;
	size_t n, room;
	struct dt_pids place;	  /* of a thread in these, and 1 */
	struct dt_stats own, all; /* a call for each thread */
};

struct report {
	enum dt_stats_key key;
	uint64_t rows;
	bool fleet; /* this is one of several traces */
	bool json, subtract, anyway, failed, waiting, live;
	bool tail_calls;	 /* of calls of libraries, those made by a jump, too */
	uint64_t folded;	 /* how many of these are a part of others */
	bool left_out;		 /* the sums of what a filter has left out while recording */
	bool budget;		 /* when functions were off because of the budget */
	const char *filter_text; /* NULL: all calls are wanted */
	struct dt_jobs jobs;
	struct dt_terminal terminal;
	struct dt_fields fields; /* enum dt_report_field */
	struct dt_hosts hosts;	 /* of a trace of several machines */
	struct dt_groups groups; /* --by; without keys: a row for each function */
	struct dt_choosing choice;
	bool waits; /* the trace has switches: it is known what was waiting */
	struct dt_failures failures;
	struct dt_reasons reasons; /* with --failed */
	struct dt_selection select;
	bool *shown; /* by function row: dt_cmd_shown() */
	uint32_t functions;
	struct dt_range_options when;
	struct dt_reader *reader;
	struct dt_pair *pair;
	struct dt_stats stats; /* by function row or, with --by, by group */
	uint64_t others[256];  /* numbers of records that are no entries or exits, by kind */
	uint64_t from, to;     /* ticks: the range */
	struct dt_report_run run;
	struct dt_stats held;	 /* the waits for the tracer, as the calls of one function */
	struct dt_missed missed; /* because of a budget; nothing where rows are not functions */
	struct why {
		char word[16];
		uint64_t times;
	} why[DT_REPORT_WHYS];
};

/* ---- report.c ---- */

/* Reads a trace, and makes the rows of its table, which dt_report_free_rows() frees, and then
 * dt_report_free() the rest. Returns 0, or the exit status after reporting an error. */
int dt_report_read(struct dt_reader *r, struct report *o, struct dt_stats_row **row, size_t *n);
void dt_report_free_rows(const struct report *o, struct dt_stats_row *row, size_t n);
void dt_report_free(struct report *o);

/* ---- report-fleet.c ---- */

/* Prints the table of a fleet, by the options in o. Returns the exit status. */
int dt_report_fleet(struct report *o, const char *path);
/* Returns whether a fleet's own table has what is asked for. */
bool dt_report_fleet_can(const struct report *o);

/* ---- report-table.c ---- */

/* Parses what --by says. False: it is wrong, which has been reported. */
bool dt_report_by(struct dt_groups *g, const char *text);
/* Says whether the trace knows what --by says; false: it does not, which has been reported. */
bool dt_report_can_group(const struct report *o);
/* Writes what a group has at one of its keys, for people. */
void dt_report_part(const struct report *o, uint32_t group, enum dt_group_key key, char *text,
		    size_t size);
/* Returns the calls of a row that were not recorded, because of a budget. */
struct dt_missed_sum dt_report_missed(const struct report *o, uint32_t function);
/* Returns the sums of the waits for the tracer; NULL: there were none. */
const struct dt_function_stats *dt_report_held(const struct report *o);
void dt_report_print_table(struct report *o, const struct dt_stats_row *row, size_t n);

/* ---- report-columns.c ---- */

/* Parses what --fields says. False: it is wrong, which has been reported. */
bool dt_report_fields(struct dt_fields *f, const char *text);
/* Chooses the columns: those that were named, or the usual ones, of which there are fewer if names
 * as wide as `names' columns would not be seen at the terminal. */
void dt_report_columns(struct report *o, unsigned names);
/* Returns the width of the columns with the blanks behind them; 0: there is none. */
unsigned dt_report_width(const struct report *o);
void dt_report_print_heads(const struct report *o);
/* Prints the columns of a row; held: of the waits for the tracer, which have no cpu and wait. */
void dt_report_print_columns(const struct report *o, const struct dt_function_stats *f, bool held);

/* ---- report-run.c ---- */

/* Take what has been read: the records of a thread, and a call that is in the table. */
void dt_report_run_span(struct dt_report_run *run, const struct dt_span *s);
void dt_report_run_call(struct dt_report_run *run, const struct dt_call *c);
/* Prints the time outside of the calls, and that of the whole run, where they are wanted. */
void dt_report_run_print(const struct report *o, struct dt_report_run *run);
void dt_report_run_free(struct dt_report_run *run);

/* ---- report-json.c ---- */

void dt_report_print_json(const struct report *o, const struct dt_stats_row *row, size_t n);

#endif
