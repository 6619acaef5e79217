/* SPDX-License-Identifier: MIT */
/* A tree of calls that is being printed: for calls*.c only. They are built with -O3: see Makefile.
 */
#ifndef DT_CMD_CALLS_WORK_H
#define DT_CMD_CALLS_WORK_H

#include <string.h>

#include "analyse/chosen.h"
#include "analyse/missed.h"
#include "analyse/pair.h"
#include "cmd/fields.h"
#include "cmd/kept-lines.h"
#include "cmd/last-lines.h"
#include "cmd/open.h"
#include "cmd/terminal.h"
#include "core/plain.h"
#include "filter/failures.h"
#include "show/entry-records.h"
#include "show/format.h"
#include "show/full-arguments.h"
#include "show/whole-hit.h"
#include "show/out.h"
#include "store/backtraces.h"

/* the parts of an open call's note (dt_call.note): */
#define SHOWN	    1u /* the call is to be printed */
#define OPENED	    2u /* its line with "{" is written; of a hidden call: those of its callers are */
#define LEVEL_SHIFT 8  /* the level of the call's line is above this bit, below DT_CHOSEN_BITS */
#define LEVEL(note) (((note) & ~DT_CHOSEN_BITS) >> LEVEL_SHIFT)
#define DEEPEST	    80 /* levels that are indented at most */

/* Bytes that a line can have: a call, indentation, marks. */
#define LINE (DT_CALL_TEXT + 8192)

enum dt_calls_field {
	DT_FIELD_TIME,
	DT_FIELD_SINCE,
	DT_FIELD_ELAPSED,
	DT_FIELD_DURATION,
	DT_FIELD_SELF,
	DT_FIELD_CPU,
	DT_FIELD_WAIT,
	DT_FIELD_CORE,
	DT_FIELD_THREAD,
	DT_FIELD_NAME,
	DT_FIELD_PROCESS,
	DT_FIELD_PROGRAM,
	DT_FIELD_MODULE,
	DT_FIELD_DEPTH,
	DT_FIELDS
};

/* Units that durations are printed in. */
enum dt_calls_units { DT_UNITS_US, DT_UNITS_AUTO, DT_UNITS_NS, DT_UNITS_MS, DT_UNITS_S };

/* The columns that are chosen. None: the usual ones, which are printed faster. */
struct dt_calls_fields {
	struct dt_fields list; /* enum dt_calls_field */
	uint64_t first;	       /* ticks: the trace's first record */
};

/* The lines of a thread, or, with --merge, of all threads. Those of the first are written at once,
 * those of the others when it is their turn. */
struct output {
	uint32_t tid;
	bool direct;
	uint64_t before; /* ticks of the line before, for the field `elapsed'; 0: none */
	struct dt_kept kept;
};

/* Where in a line about a call its parts are; for lines that a terminal has no room for. */
struct dt_calls_parts {
	char *start; /* the indentation begins */
	char *name;  /* the call begins, or the bracket that ends it */
	char *close; /* the arguments end */
	char *must;  /* the result and the name of the reason end: what comes then explains them */
	uint32_t function;
	bool call; /* the line has a function's name and arguments */
};

struct calls {
	struct dt_reader *reader;
	struct dt_pair *pair;
	struct dt_formats formats;
	struct dt_texts texts;
	struct dt_whole_hits hits; /* of tracepoints, that have several records */
	struct dt_selection select;
	struct dt_range_options when;
	const char *min_text;
	uint64_t min; /* ticks */
	uint32_t depth;
	bool merge, failed, subtract;
	bool together; /* all threads have one output */
	bool switches; /* context switches have lines, too */
	struct dt_terminal terminal;
	struct dt_calls_fields fields;
	bool as_json;		    /* JSON lines */
	struct dt_calls_json *json; /* NULL: text */
	char *json_text;	    /* room for a text of LINE bytes */
	bool made; /* lines of calls are made as text at once, by dt_calls_call_text() */
	enum dt_calls_units units;
	bool units_said, header, no_header;
	uint64_t *before;     /* of where the line goes that is being made: see struct output */
	uint64_t last_before; /* the same for the last lines */
	bool only_failed;     /* only calls that failed */
	bool tail_calls;      /* of calls of libraries, also those made by a jump */
	bool met;	      /* one that is wanted has ended */
	const char *filter_text;
	struct dt_choosing choice; /* only calls that its filter wants; NULL: all */
	bool single;		   /* a line for each call of these: not the calls around it */
	bool backtrace;		   /* also those */
	struct dt_backtraces backtraces; /* what --backtrace has kept, if they are shown */
	struct dt_last_lines last;	 /* these come first; `most' 0: none do */
	bool late; /* whether a call is shown is known only when it has ended */
	struct dt_failures failures;
	bool ending;	       /* there are no more records */
	uint64_t until;	       /* ticks: records after this are not read */
	uint64_t resumed;      /* ticks: the end of the last pause; 0: there was none */
	struct dt_fulls fulls; /* of calls whose lines are still to be written */
	double cost[256];      /* ticks to subtract for a record, by its kind */
	uint32_t *thread;      /* the chosen threads; none: all */
	size_t threads;
	bool *shown;		 /* by function row: dt_cmd_shown() */
	uint32_t functions;	 /* elements of shown[] */
	uint64_t ns_per_tick_32; /* nanoseconds of a tick, times 2^32 */
	uint32_t merged;	 /* with --merge: the thread whose records came last */
	const char *host;	 /* of a fleet: whose trace it is; NULL: there is one trace */
	unsigned host_room;	 /* columns for that of the longest name */
	struct output *output;
	size_t outputs;
	uint32_t last_tid;	 /* the thread whose output was used last, */
	struct output *to;	 /* and that output */
	struct dt_missed missed; /* what was off because of a budget, where that is said... */
	size_t missed_at;	 /* ...up to here, in this thread (without --merge) */
	uint32_t missed_tid;
	bool *called; /* by function: it has been, in this thread */
	struct dt_keep keep;
	struct dt_out *out;
	char (*duration)[16]; /* texts of the durations below `shorts' ticks */
	unsigned shorts;
	struct dt_calls_parts at;
	const struct dt_call **waiting; /* callers to be printed, the innermost first */
	size_t waiting_n, waiting_size;
};

/* ---- calls.c ---- */

/* Says so if --failed or -f meant none of the calls. */
void dt_calls_say_none(const struct calls *k);

/* Makes ready for the records of a trace, in that range; k->reader is open. Returns 0, or the exit
 * status after reporting an error. */
int dt_calls_begin(struct calls *k, struct dt_reader_range *range);
/* Takes the records of a span; -1: error. */
int dt_calls_take(struct calls *k, struct dt_span *s, struct dt_error *e);
/* Writes, with --merge, what is still to be written of the calls that are open, as another thread
 * goes on. */
void dt_calls_let_go(struct calls *k);
/* Ends; rc: -1 after an error, *e. Returns the exit status. */
int dt_calls_end(struct calls *k, int rc, struct dt_error *e);
/* Frees what belongs to a trace. */
void dt_calls_free(struct calls *k);

/* ---- calls-fleet.c ---- */

/* Prints the calls of a fleet; options: of the command. Returns the exit status. */
int dt_calls_fleet(struct calls *options, const char *path);

/* ---- calls-output.c ---- */

/* Returns where a thread's lines go, for dt_calls_output(), when that is not the one used last.
 * NULL: out of memory, which has been noted. */
struct output *dt_calls_find_output(struct calls *k, uint32_t tid);
/* Write or keep a line of text that stands at dt_out_room(); text of any length elsewhere. */
void dt_calls_text(struct calls *k, struct output *to, char *text, size_t n);
void dt_calls_bytes(struct calls *k, struct output *to, const char *text, size_t n);
/* Writes the heading of a thread's lines. */
void dt_calls_print_thread(struct calls *k, uint32_t tid);

/* Says whether a thread is one of those that were chosen. */
static inline bool dt_calls_wants(const struct calls *k, uint32_t tid)
{
	if (k->threads)
		tid = dt_reader_number(k->reader, tid);
	for (size_t i = 0; i < k->threads; i++)
		if (k->thread[i] == tid)
			return true;
	return !k->threads;
}

/* Returns where a thread's lines go. NULL: out of memory. */
static inline struct output *dt_calls_output(struct calls *k, uint32_t tid)
{
	if (__builtin_expect(k->to && (k->together || k->last_tid == tid), 1))
		return k->to;
	return dt_calls_find_output(k, tid);
}

/* ---- calls-missed.c ---- */

/* Reads when functions were off. -1 and the error; dt_calls_missed_free() either way. */
int dt_calls_missed_begin(struct calls *k, struct dt_error *e);
void dt_calls_missed_free(struct calls *k);
/* Says what went off up to a time, inside of the calls that are open in a thread. */
void dt_calls_missed_until(struct calls *k, uint32_t tid, uint64_t ticks);

/* ---- calls-fields.c ---- */

/* What a line is about. */
struct dt_calls_line {
	const struct dt_call *call; /* NULL: no call */
	uint32_t tid;
	uint64_t ticks; /* UINT64_MAX: not known */
	bool ends;	/* it is the call's last line */
};

/* Parses "since,duration", "+since" (before the usual ones) or "none". False: it is wrong, which
 * has been reported. */
bool dt_calls_fields_parse(struct dt_calls_fields *f, const char *text);
/* Parses "us", "auto", ... False: it is wrong, which has been reported. */
bool dt_calls_units_parse(enum dt_calls_units *u, const char *text);
/* Says whether the trace knows all that is chosen. merge: the usual ones are also that of the
 * thread. Returns 0, or the exit status. */
int dt_calls_fields_begin(struct dt_calls_fields *f, struct dt_reader *r, bool merge);
/* Writes the chosen columns of a line; l NULL: so many spaces. */
char *dt_calls_columns(struct calls *k, char *p, const struct dt_calls_line *l);
/* Returns the name of the program that a thread's process executes; "": it is not known. */
const char *dt_calls_program(const struct calls *k, const struct dt_thread_info *t);
/* Writes the line that names the columns. */
void dt_calls_print_header(struct calls *k);

/* ---- calls-lines.c ---- */

/* Makes the texts of short durations in advance: most calls are short. */
void dt_calls_short_durations(struct calls *k);
/* For dt_calls_duration(), of any length. */
char *dt_calls_any_duration(const struct calls *k, char *p, uint64_t ticks);
/* Writes the columns of a line that is not about a call; ticks UINT64_MAX: when is not known. */
char *dt_calls_other_columns(struct calls *k, char *p, struct output *to, uint32_t tid,
			     uint64_t ticks);
/* Writes what stands before a line's text: the thread, with --merge, and the indentation. */
char *dt_calls_start(const struct calls *k, char *p, uint32_t tid, uint32_t level);
/* Write a line about a call: its first, if it has lines inside it; its last; its only one. */
void dt_calls_print_open(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level);
void dt_calls_print_close(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level);
void dt_calls_print_whole(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level);
/* Makes a line about a call as text at once, and writes or keeps that. */
void dt_calls_call_text(struct calls *k, struct output *to, enum dt_kept_kind kind,
			const struct dt_call *c, uint32_t tid, uint32_t level,
			const struct dt_full *full);
/* Writes what became of the process of a call that did not end: ": the process exited with 1".
 * Nothing, if that is not known. */
char *dt_calls_fate(const struct calls *k, char *p, const struct dt_call *c);
/* Says whether a call that was unwound ended because its process executed another program. */
bool dt_calls_ended_by_exec(const struct calls *k, const struct dt_call *c);
/* Writes the lines that have been kept, one thread after the other, and ends the output. Returns
 * the exit status. */
int dt_calls_print_kept(struct calls *k);
/* Remembers the line of a call that has ended, if it may be one of the last. */
void dt_calls_remember(struct calls *k, const struct dt_call *c);

/* Writes a duration in sixteen columns, or more if it needs them. */
static inline char *dt_calls_duration(const struct calls *k, char *p, uint64_t ticks)
{
	if (__builtin_expect(ticks < k->shorts, 1)) {
		memcpy(p, k->duration[ticks], 16);
		return p + 16;
	}
	return dt_calls_any_duration(k, p, ticks);
}

static inline char *dt_calls_spaces(char *p, size_t n)
{
	memset(p, ' ', n);
	return p + n;
}

/* Writes sixteen columns without a duration. */
static inline char *dt_calls_blank(char *p)
{
	memset(p, ' ', 16);
	return p + 16;
}

/* Says whether the marks for the call's end depend on its times. */
static inline bool dt_calls_has_fate(const struct calls *k, const struct dt_call *c)
{
	return c->flags & (DT_CALL_OPEN | DT_CALL_WAITED) ||
	       (c->flags & DT_CALL_UNWOUND && dt_calls_ended_by_exec(k, c));
}

/* Writes a line about a call now, or keeps it. */
static inline void dt_calls_line(struct calls *k, struct output *to, enum dt_kept_kind kind,
				 const struct dt_call *c, uint32_t tid, uint32_t level)
{
	const struct dt_full *full = NULL;

	if (__builtin_expect(k->fulls.n != 0, 0) && kind != DT_KEPT_CLOSE)
		full = dt_full_of(&k->fulls, c->id);
	if (full || k->made || (!to->direct && kind != DT_KEPT_OPEN && dt_calls_has_fate(k, c))) {
		dt_calls_call_text(k, to, kind, c, tid, level, full);
		return;
	}
	if (!to->direct)
		dt_kept_call(&k->keep, &to->kept, kind, c, level,
			     dt_format_values(&k->formats, c->function));
	else if (kind == DT_KEPT_OPEN)
		dt_calls_print_open(k, c, tid, level);
	else if (kind == DT_KEPT_CLOSE)
		dt_calls_print_close(k, c, tid, level);
	else
		dt_calls_print_whole(k, c, tid, level);
}

/* ---- calls-narrow.c ---- */

/* Shortens a line about a call, of n bytes with its newline, that is longer than the terminal is
 * wide, to its columns; k->at tells its parts. Returns how many bytes it has then. */
size_t dt_calls_fit_long(const struct calls *k, char *line, size_t n);

/* The same for a line of any length. */
static inline size_t dt_calls_fit(const struct calls *k, char *line, size_t n)
{
	return __builtin_expect(k->terminal.columns && n - 1 > k->terminal.columns, 0)
		       ? dt_calls_fit_long(k, line, n)
		       : n;
}

/* ---- calls.c ---- */

/* For dt_calls_is_shown(), of a function that is new in the trace. */
bool dt_calls_is_new_shown(struct calls *k, uint32_t function);
/* Writes the lines of the calls around the current one that have not been written. */
void dt_calls_open_callers(struct calls *k, struct output *to, uint32_t tid);

/* Says whether a function's calls are to be printed. */
static inline bool dt_calls_is_shown(struct calls *k, uint32_t function)
{
	return __builtin_expect(function < k->functions, 1) ? k->shown[function]
							    : dt_calls_is_new_shown(k, function);
}

/* Returns the level of lines inside the call with this note; NULL: inside no call. */
static inline uint32_t dt_calls_next_level(const uint32_t *caller)
{
	return caller ? LEVEL(*caller) + (*caller & SHOWN) : 0;
}

/* ---- calls-json.c ---- */

/* Prepares for JSON lines, if they are wanted. Returns 0, or the exit status. */
int dt_calls_json_begin(struct calls *k);
void dt_calls_json_free(struct calls *k);
/* Write a line. Those about what is no call are written as in an event about a call of the thread:
 * dt_pair_callers(). full: the values from the records after the call's entry, or NULL. */
void dt_calls_json_call(struct calls *k, const struct dt_call *c, const struct dt_full *full);
void dt_calls_json_thread(struct calls *k, uint32_t tid);
void dt_calls_json_loss(struct calls *k, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end);
void dt_calls_json_point(struct calls *k, const struct dt_site *site, const struct dt_record *r);
void dt_calls_json_hit(struct calls *k, const struct dt_whole_hit *h);
/* A line that has only a text. */
/* A function went off, because of a budget. */
void dt_calls_json_off(struct calls *k, uint32_t tid, const struct dt_budget_row *x);
void dt_calls_json_text(struct calls *k, const char *type, uint32_t tid, uint64_t ticks,
			const char *text, size_t n);

/* ---- calls-stacks.c ---- */

/* Writes or keeps the lines of a call's stack, below the call's own line. */
void dt_calls_stack(struct calls *k, struct output *to, const struct dt_call *c, uint32_t tid,
		    uint32_t level);

/* ---- calls-other.c ---- */

/* For struct dt_pair_events and struct dt_texts: ctx is the struct calls. */
void dt_calls_on_loss(void *ctx, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end);
void dt_calls_on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth);
void dt_calls_on_text(void *ctx, const struct dt_text *t);
void dt_calls_on_hit(void *ctx, struct dt_whole_hit *h);

/* Writes at most 512 bytes of a name or description so that it can not end the comment it is in. */
char *dt_calls_quotable(char *p, const char *s);

#endif
