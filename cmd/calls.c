/* SPDX-License-Identifier: MIT */
/*
 * devtrace calls: the tree of calls. A call's line is written as soon as something has to be
 * written inside it, and then ends with "{"; if nothing is, the call gets a single line when it
 * ends. So only the open calls are held in memory, and a minimum duration needs no look-ahead.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "analyse/chosen.h"
#include "analyse/meanings.h"
#include "filter/failures.h"
#include "analyse/messages.h"
#include "analyse/pair.h"
#include "show/entry-records.h"
#include "cmd/commands.h"
#include "show/event.h"
#include "show/format.h"
#include "show/full-arguments.h"
#include "show/marks.h"
#include "cmd/kept-lines.h"
#include "cmd/last-lines.h"
#include "cmd/open.h"
#include "show/out.h"
#include "core/text.h"

static const char help[] =
	"usage: devtrace calls [OPTION]... [FILE]\n"
	"Prints the tree of calls in a trace, with durations, arguments and results; one thread\n"
	"after the other.\n"
	"\n"
	"  -F, --function PAT     show only functions that match the shell pattern, and the\n"
	"                         events in them\n"
	"  -N, --no-function PAT  do not show those\n"
	"      --failed           only calls that failed: a line for each, with the reason\n"
	"  -f, --filter WORDS     only calls that these words mean: a line for each\n"
	"  -B, --backtrace        with --failed, -f: also the calls that they were made in\n"
	"      --last N           with --failed, -f: if there are more than twice as many, the last\n"
	"                         N come first, then all\n"
	"  -t, --time TIME        only calls that took at least TIME (10us, 1.5ms, 2000 ticks)\n"
	"  -D, --depth N          at most N levels of shown calls\n"
	"      --thread TID       only this thread; may be given several times\n"
	"      --merge            all threads in the order of time, with a column for the thread\n"
	"      --subtract         durations without what recording cost\n"
	"      --from TIME        begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME          end there\n"
	"  -h, --help             show this\n"
	"\n"
	"A duration is on the line that ends a call. Marked are calls that ended unwound (by\n"
	"longjmp, an exception, an exit), in a tail call, or not at all, calls that were entered\n"
	"before the trace began, and those with records lost meanwhile.\n"
	"FILE is devtrace.db when not given.\n";

/* the parts of an open call's note (dt_call.note): */
#define SHOWN	    1u /* the call is to be printed */
#define OPENED	    2u /* its line with "{" is written; of a hidden call: those of its callers are */
#define LEVEL_SHIFT 8  /* the level of the call's line is above this bit, below DT_CHOSEN_BITS */
#define LEVEL(note) (((note) & ~DT_CHOSEN_BITS) >> LEVEL_SHIFT)
#define DEEPEST	    80 /* levels that are indented at most */

#define SHORT 4096u /* ticks: durations below this have their text made in advance */

#define KEPT_IN_MEMORY (192u << 20) /* bytes of lines that wait for their thread's turn */

/* The lines of a thread, or, with --merge, of all threads. Those of the first are written at once,
 * those of the others when it is their turn. */
struct output {
	uint32_t tid;
	bool direct;
	struct dt_kept kept;
};

struct calls {
	struct dt_reader *reader;
	struct dt_pair *pair;
	struct dt_formats formats;
	struct dt_texts texts;
	struct dt_selection select;
	struct dt_range_options when;
	const char *min_text;
	uint64_t min; /* ticks */
	uint32_t depth;
	bool merge, colour, failed, subtract;
	bool only_failed; /* only calls that failed */
	const char *filter_text;
	struct dt_choosing choice; /* only calls that its filter wants; NULL: all */
	bool single;		   /* a line for each call of these: not the calls around it */
	bool backtrace;		   /* also those */
	struct dt_last_lines last; /* these come first; `most' 0: none do */
	bool late;		   /* whether a call is shown is known only when it has ended */
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
	struct output *output;
	size_t outputs;
	uint32_t last_tid; /* the thread whose output was used last, */
	struct output *to; /* and that output */
	struct dt_keep keep;
	struct dt_out *out;
	char (*duration)[16]; /* texts of the durations below `shorts' ticks */
	unsigned shorts;
	const struct dt_call **waiting; /* callers to be printed, the innermost first */
	size_t waiting_n, waiting_size;
};

/* ---- where it goes ---- */

static const char *thread_name(const struct calls *k, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(k->reader, tid);

	return t ? t->name : "";
}

static void print_thread(struct calls *k, uint32_t tid)
{
	const char *name = thread_name(k, tid);
	struct dt_out *o = k->out;

	dt_out_text(o, "# thread ");
	if (tid == DT_NO_TID)
		dt_out_text(o, "none");
	else
		dt_out_decimal(o, tid);
	if (name[0]) {
		dt_out_text(o, " (");
		dt_out_text(o, name);
		dt_out_char(o, ')');
	}
	dt_out_char(o, '\n');
}

static struct output *new_output(struct calls *k, uint32_t tid)
{
	struct output *p = realloc(k->output, (k->outputs + 1) * sizeof(*p));

	if (!p)
		return NULL;
	k->output = p;
	p += k->outputs;
	*p = (struct output){.tid = tid, .direct = !k->outputs && !k->last.most};
	k->outputs++;
	return p;
}

static bool wanted(const struct calls *k, uint32_t tid)
{
	for (size_t i = 0; i < k->threads; i++)
		if (k->thread[i] == tid)
			return true;
	return !k->threads;
}

static struct output *find_output(struct calls *k, uint32_t tid)
{
	struct output *p = NULL;

	for (size_t i = 0; i < k->outputs && !p; i++)
		if (k->output[i].tid == tid)
			p = &k->output[i];
	if (!p) {
		p = new_output(k, tid);
		if (!p) {
			k->failed = true;
			return NULL;
		}
		if (!k->merge && p->direct)
			print_thread(k, tid);
	}
	k->last_tid = tid;
	return k->to = p;
}

static inline struct output *output_of(struct calls *k, uint32_t tid)
{
	if (__builtin_expect(k->to && (k->merge || k->last_tid == tid), 1))
		return k->to;
	return find_output(k, tid);
}

/* ---- lines ---- */

/* Bytes that a line can have: a call, indentation, marks. */
#define LINE (DT_CALL_TEXT + 8192)

/* Writes a duration in sixteen columns, "     12.345 us  ", or more if it needs them. */
static char *put_any_duration(const struct calls *k, char *p, uint64_t ticks)
{
	uint64_t ns = (uint64_t)((unsigned __int128)ticks * k->ns_per_tick_32 >> 32);
	uint64_t us = ns < UINT32_MAX ? (uint32_t)ns / 1000 : ns / 1000;
	unsigned rest = (unsigned)(ns - 1000 * us);
	char digits[DT_DIGITS];
	size_t n;

	n = dt_text_decimal(digits, us);
	memset(p, ' ', 16);
	p += n < 7 ? 7 - n : 0;
	for (size_t i = 0; i < n; i++)
		*p++ = digits[i];
	*p++ = '.';
	*p++ = (char)('0' + rest / 100);
	*p++ = (char)('0' + rest / 10 % 10);
	*p++ = (char)('0' + rest % 10);
	memcpy(p, " us  ", 5);
	return p + 5;
}

/* Makes the texts of short durations in advance: most calls are short. */
static void make_short_durations(struct calls *k)
{
	char text[DT_DIGITS + 16];

	k->duration = malloc(SHORT * sizeof(*k->duration));
	for (k->shorts = 0; k->duration && k->shorts < SHORT; k->shorts++) {
		if (put_any_duration(k, text, k->shorts) != text + 16)
			break;
		memcpy(k->duration[k->shorts], text, 16);
	}
}

static inline char *put_duration(const struct calls *k, char *p, uint64_t ticks)
{
	if (__builtin_expect(ticks < k->shorts, 1)) {
		memcpy(p, k->duration[ticks], 16);
		return p + 16;
	}
	return put_any_duration(k, p, ticks);
}

static char *put_blank(char *p)
{
	memset(p, ' ', 16);
	return p + 16;
}

static char *put_start(const struct calls *k, char *p, uint32_t tid, uint32_t level)
{
	unsigned spaces = 2 * (level < DEEPEST ? level : DEEPEST);

	if (k->merge) {
		char digits[DT_DIGITS];
		size_t n = dt_text_decimal(digits, tid);

		memset(p, ' ', 10);
		memcpy(p + (n < 7 ? 7 - n : 0), digits, n);
		p += (n < 7 ? 7 : n) + 2;
	}
	memset(p, ' ', 32);
	for (unsigned i = 32; __builtin_expect(i < spaces, 0); i += 16)
		memset(p + i, ' ', 16);
	p += spaces;
	if (level > DEEPEST) {
		*p++ = '[';
		p += dt_text_decimal(p, level);
		p = stpcpy(p, "] ");
	}
	return p;
}

static const char executed[] = ": the process executed another program";

/* Says whether a call that was unwound ended because its process executed another program. */
static bool ended_by_exec(const struct calls *k, const struct dt_call *c)
{
	return dt_reader_exec(k->reader, c->tid, c->begin) <= c->end;
}

/* Says whether the part of the trace that is read goes on until that tick. */
static bool is_seen(const struct calls *k, uint64_t ticks)
{
	return ticks != UINT64_MAX && ticks <= k->until;
}

/*
 * Writes what became of the process of a call that did not end. It writes nothing if the trace does
 * not go on until then, or has a gap before, in which the call could have ended unseen.
 */
static char *put_fate(const struct calls *k, char *p, const struct dt_call *c, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(k->reader, tid);
	const struct dt_process_info *all, *of = NULL;
	const char *signal;
	size_t n;

	all = dt_reader_processes(k->reader, &n);
	for (size_t i = 0; t && i < n; i++)
		if (all[i].pid == t->pid)
			of = &all[i];
	if (c->begin <= k->resumed || c->flags & (DT_CALL_LOSS | DT_CALL_PAUSED))
		return p;
	if (t && is_seen(k, dt_reader_exec(k->reader, t->pid, c->begin)))
		return stpcpy(p, executed);
	if (!of || !of->end_ticks || !is_seen(k, of->end_ticks))
		return p;
	p = stpcpy(p, ": the process ");
	if (of->status < 0)
		return stpcpy(p, "ended");
	if (WIFEXITED(of->status)) {
		p = stpcpy(p, "exited with ");
		return p + dt_text_decimal(p, (uint64_t)WEXITSTATUS(of->status));
	}
	p = stpcpy(p, "was killed by ");
	signal = sigabbrev_np(WTERMSIG(of->status));
	if (signal)
		return stpcpy(stpcpy(p, "SIG"), signal);
	p = stpcpy(p, "signal ");
	return p + dt_text_decimal(p, (uint64_t)WTERMSIG(of->status));
}

#define MARKED_BEGIN (DT_CALL_TAILED | DT_CALL_OTHER_STACK | DT_CALL_DOUBTFUL)
#define MARKED_END                                                                                 \
	(DT_CALL_UNWOUND | DT_CALL_TAIL | DT_CALL_INFERRED | DT_CALL_LEFT | DT_CALL_OPEN |         \
	 DT_CALL_LOSS | DT_CALL_NO_ENTRY | DT_CALL_NO_EXIT | DT_CALL_PAUSED | DT_CALL_BACKWARD)

/* Returns how long the call waited, as its last line has it: if it has lines inside it, these tell
 * what others in it waited. */
static uint64_t wait_of(const struct dt_call *c, bool lines_inside)
{
	return lines_inside ? c->waited_self : c->waited;
}

/* Writes how long its thread was on no processor, and whether that was for want of one. */
static char *put_wait(const struct calls *k, char *p, const struct dt_call *c, bool lines_inside)
{
	uint64_t waited = wait_of(c, lines_inside);
	char text[DT_DIGITS + 16], *begin = text, *end = put_any_duration(k, text, waited);

	while (*begin == ' ')
		begin++;
	while (end[-1] == ' ')
		end--;
	p = stpcpy(p, "waited ");
	memcpy(p, begin, (size_t)(end - begin));
	p += end - begin;
	if (c->preempted >= c->waited)
		return stpcpy(p, " for a processor");
	return !lines_inside && c->preempted ? stpcpy(p, ", in part for a processor") : p;
}

/* Returns the marks for the call's end. */
static uint32_t marked_end(const struct dt_call *c, bool lines_inside)
{
	uint32_t flags = c->flags & MARKED_END;

	return c->flags & DT_CALL_WAITED && wait_of(c, lines_inside) &&
			       !(c->flags & DT_CALL_UNKNOWN)
		       ? flags | DT_CALL_WAITED
		       : flags;
}

/* Writes a comment with the function's name, if function is not NULL, and the call's marks for the
 * flags. */
static char *put_marks(struct calls *k, char *p, uint32_t flags, const uint32_t *function,
		       const struct dt_call *c, uint32_t tid)
{
	const char *separator = " ", *text;
	unsigned at = 0;
	uint32_t flag;

	if (!flags && !k->colour) {
		memcpy(p, "  /* ", 5);
		p = dt_format_name(&k->formats, p + 5, *function);
		memcpy(p, " */", 3);
		return p + 3;
	}
	p = stpcpy(p, k->colour ? "  \033[2m/*" : "  /*");
	if (function) {
		*p++ = ' ';
		p = dt_format_name(&k->formats, p, *function);
		separator = ": ";
	}
	while ((flag = dt_marks_next(&at, flags, &text))) {
		p = stpcpy(stpcpy(p, separator), text);
		if (flag == DT_CALL_OPEN)
			p = put_fate(k, p, c, tid);
		else if (flag == DT_CALL_UNWOUND && ended_by_exec(k, c))
			p = stpcpy(p, executed);
		separator = ", ";
	}
	if (flags & DT_CALL_WAITED)
		p = put_wait(k, stpcpy(p, separator), c, function != NULL);
	return stpcpy(p, k->colour ? " */\033[0m" : " */");
}

static void end_line(struct calls *k, const char *line, char *p)
{
	*p++ = '\n';
	dt_out_used(k->out, (size_t)(p - line));
}

/* full: the values from the records after the call's entry, or NULL. */
static inline char *put_call(struct calls *k, char *p, const struct dt_call *c,
			     const struct dt_full *full)
{
	return full ? dt_format_full(&k->formats, p, c->function, c->argument, full)
		    : dt_format_call(&k->formats, p, c->function, c->argument);
}

/* Writes the first line of a call that has lines inside it. */
static inline char *put_open(struct calls *k, char *p, const struct dt_call *c, uint32_t tid,
			     uint32_t level, const struct dt_full *full)
{
	p = put_start(k, put_blank(p), tid, level);
	p = put_call(k, p, c, full);
	*p++ = ' ';
	*p++ = '{';
	if (c->flags & MARKED_BEGIN)
		p = put_marks(k, p, c->flags & MARKED_BEGIN, NULL, c, tid);
	return p;
}

static void print_open(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level)
{
	char *line = dt_out_room(k->out, LINE);

	end_line(k, line, put_open(k, line, c, tid, level, NULL));
}

static char *put_result(struct calls *k, char *p, const struct dt_call *c)
{
	if (!c->result)
		return p;
	return dt_format_outcome(&k->formats, p, c->function, c->result);
}

static char *put_times(const struct calls *k, char *p, const struct dt_call *c)
{
	return c->flags & DT_CALL_UNTIMED ? put_blank(p) : put_duration(k, p, dt_call_ticks(c));
}

static char *put_close(struct calls *k, char *p, const struct dt_call *c, uint32_t tid,
		       uint32_t level)
{
	p = put_start(k, put_times(k, p, c), tid, level);
	*p++ = '}';
	p = put_result(k, p, c);
	return put_marks(k, p, marked_end(c, true), &c->function, c, tid);
}

static void print_close(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level)
{
	char *line = dt_out_room(k->out, LINE);

	end_line(k, line, put_close(k, line, c, tid, level));
}

static char *put_some_marks(struct calls *k, char *p, uint32_t flags, const struct dt_call *c,
			    uint32_t tid)
{
	return flags ? put_marks(k, p, flags, NULL, c, tid) : p;
}

static inline char *put_whole(struct calls *k, char *p, const struct dt_call *c, uint32_t tid,
			      uint32_t level, const struct dt_full *full)
{
	p = put_start(k, put_times(k, p, c), tid, level);
	p = put_call(k, p, c, full);
	p = put_result(k, p, c);
	if (c->flags & (MARKED_BEGIN | MARKED_END | DT_CALL_WAITED))
		p = put_some_marks(k, p, (c->flags & MARKED_BEGIN) | marked_end(c, false), c, tid);
	return p;
}

static void print_whole(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level)
{
	char *line = dt_out_room(k->out, LINE);

	end_line(k, line, put_whole(k, line, c, tid, level, NULL));
}

/* Writes or keeps a line of text that stands at dt_out_room(). */
static void text_line(struct calls *k, struct output *to, const char *text, size_t n)
{
	if (to->direct)
		dt_out_used(k->out, n);
	else
		dt_kept_text(&k->keep, &to->kept, text, n);
}

/* Writes or keeps text of any length that stands elsewhere. */
static void text_bytes(struct calls *k, struct output *to, const char *text, size_t n)
{
	if (to->direct)
		dt_out_bytes(k->out, text, n);
	else
		dt_kept_text(&k->keep, &to->kept, text, n);
}

/*
 * Makes a line about a call as text at once, and writes or keeps that: a line kept by
 * dt_kept_call() has neither arguments in full nor the times of begin and end.
 */
static void call_text(struct calls *k, struct output *to, enum dt_kept_kind kind,
		      const struct dt_call *c, uint32_t tid, uint32_t level,
		      const struct dt_full *full)
{
	char *text = dt_out_room(k->out, LINE), *p;

	p = kind == DT_KEPT_OPEN    ? put_open(k, text, c, tid, level, full)
	    : kind == DT_KEPT_CLOSE ? put_close(k, text, c, tid, level)
				    : put_whole(k, text, c, tid, level, full);
	*p++ = '\n';
	text_line(k, to, text, (size_t)(p - text));
}

/* Says whether the marks for the call's end depend on its times. */
static bool has_fate(const struct calls *k, const struct dt_call *c)
{
	return c->flags & (DT_CALL_OPEN | DT_CALL_WAITED) ||
	       (c->flags & DT_CALL_UNWOUND && ended_by_exec(k, c));
}

/* Writes a line about a call now, or keeps it. */
static void line(struct calls *k, struct output *to, enum dt_kept_kind kind,
		 const struct dt_call *c, uint32_t tid, uint32_t level)
{
	const struct dt_full *full = NULL;

	if (__builtin_expect(k->fulls.n != 0, 0) && kind != DT_KEPT_CLOSE)
		full = dt_full_of(&k->fulls, c->id);
	if (full || (!to->direct && kind != DT_KEPT_OPEN && has_fate(k, c))) {
		call_text(k, to, kind, c, tid, level, full);
		return;
	}
	if (!to->direct)
		dt_kept_call(&k->keep, &to->kept, kind, c, level,
			     dt_format_values(&k->formats, c->function));
	else if (kind == DT_KEPT_OPEN)
		print_open(k, c, tid, level);
	else if (kind == DT_KEPT_CLOSE)
		print_close(k, c, tid, level);
	else
		print_whole(k, c, tid, level);
}

static unsigned values_of(void *ctx, uint32_t function)
{
	struct calls *k = ctx;

	return dt_format_values(&k->formats, function);
}

static void print_number(struct calls *k, const char *before, uint64_t n, const char *after)
{
	char digits[DT_DIGITS];

	dt_out_text(k->out, before);
	dt_out_bytes(k->out, digits, dt_text_decimal(digits, n));
	dt_out_text(k->out, after);
}

/* Writes the last lines, if there are many. */
static void print_last(struct calls *k)
{
	const struct dt_last_lines *l = &k->last;

	if (l->total <= 2 * (uint64_t)l->most)
		return;
	print_number(k, "# the last ", l->n, " of ");
	print_number(k, "", l->total, k->only_failed ? " calls that failed;" : " calls;");
	dt_out_text(k->out, " all of them follow below\n");
	for (unsigned i = 0; i < l->n; i++) {
		if (!k->merge && (!i || l->line[i].tid != l->line[i - 1].tid))
			print_thread(k, l->line[i].tid);
		dt_out_bytes(k->out, l->line[i].text, l->line[i].n);
	}
	print_number(k, "\n# all ", l->total, ", in the order of time\n");
}

/* Writes the lines that have been kept, one thread after the other: those of the threads after the
 * first, or all. */
static int print_kept(struct calls *k)
{
	struct dt_kept_cursor *c = malloc(sizeof(*c));
	size_t first = k->last.most ? 0 : 1;

	k->failed |= !c;
	if (first == 0)
		print_last(k);
	for (size_t i = first; i < k->outputs && c; i++) {
		struct output *o = &k->output[i];

		if (i)
			dt_out_char(k->out, '\n');
		if (!k->merge)
			print_thread(k, o->tid);
		dt_kept_rewind(c, &k->keep, &o->kept);
		while (!k->out->failed && dt_kept_next(c, values_of, k)) {
			if (c->kind == DT_KEPT_TEXT)
				dt_out_bytes(k->out, c->text, c->text_n);
			else if (c->kind == DT_KEPT_OPEN)
				print_open(k, &c->call, o->tid, c->line_level);
			else if (c->kind == DT_KEPT_CLOSE)
				print_close(k, &c->call, o->tid, c->line_level);
			else
				print_whole(k, &c->call, o->tid, c->line_level);
		}
		dt_kept_end(c);
	}
	free(c);
	dt_keep_close(&k->keep);
	free(k->output);
	return dt_out_end(k->out) | k->failed | k->keep.failed;
}

/* ---- events ---- */

static __attribute__((noinline)) bool is_new_shown(struct calls *k, uint32_t function)
{
	free(k->shown);
	k->functions = dt_reader_functions(k->reader) + 1;
	k->shown = dt_cmd_shown(k->reader, &k->select);
	if (!k->shown)
		k->functions = 0;
	return function < k->functions && k->shown[function];
}

static inline bool is_shown(struct calls *k, uint32_t function)
{
	return __builtin_expect(function < k->functions, 1) ? k->shown[function]
							    : is_new_shown(k, function);
}

/* Returns the level of lines inside the call with this note; NULL: inside no call. */
static inline uint32_t next_level(const uint32_t *caller)
{
	return caller ? LEVEL(*caller) + (*caller & SHOWN) : 0;
}

/* Returns the note of a call that begins now. */
static inline uint32_t new_note(struct calls *k, const uint32_t *caller, uint32_t function)
{
	uint32_t level = next_level(caller);

	return level << LEVEL_SHIFT | (is_shown(k, function) && level < k->depth ? SHOWN : 0);
}

/* For dt_pair_callers(): collects the callers whose lines are still to be written. */
static bool collect(void *ctx, const struct dt_call *c)
{
	struct calls *k = ctx;

	if (*c->note & OPENED)
		return false;
	if (!(*c->note & SHOWN)) {
		*c->note |= OPENED;
		return true;
	}
	if (k->waiting_n == k->waiting_size) {
		size_t size = k->waiting_size ? 2 * k->waiting_size : 64;
		const struct dt_call **p = realloc(k->waiting, size * sizeof(*p));

		if (!p) {
			k->failed = true;
			return false;
		}
		k->waiting = p;
		k->waiting_size = size;
	}
	k->waiting[k->waiting_n++] = c;
	return true;
}

/* Writes the lines of the calls around the current one that have not been written. */
static void open_callers(struct calls *k, struct output *to, uint32_t tid)
{
	const uint32_t *caller = dt_pair_caller_note(k->pair);

	if (!caller || *caller & OPENED || k->single)
		return;
	k->waiting_n = 0;
	dt_pair_callers(k->pair, collect, k);
	while (k->waiting_n) {
		const struct dt_call *c = k->waiting[--k->waiting_n];

		line(k, to, DT_KEPT_OPEN, c, tid, LEVEL(*c->note));
		*c->note |= OPENED;
	}
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct calls *k = ctx;
	const uint32_t *caller = dt_pair_caller_note(k->pair);

	*c->note = new_note(k, caller, c->function);
	if (k->choice.filter)
		dt_chosen_begin(&k->choice, c);
	if (*c->note & SHOWN && !k->late && caller && !(*caller & OPENED)) {
		struct output *to = output_of(k, c->tid);

		if (to)
			open_callers(k, to, c->tid);
	}
}

/* Says whether a call that has ended is one of those that are wanted. */
static bool is_wanted(struct calls *k, const struct dt_call *c)
{
	uint32_t error;

	if (k->min &&
	    (c->flags & (DT_CALL_NO_ENTRY | DT_CALL_NO_EXIT) || dt_call_ticks(c) < k->min))
		return false;
	if (k->choice.filter && !dt_chosen_end(&k->choice, c))
		return false;
	return !k->only_failed || dt_failures_outcome(&k->failures, c->function, c->result,
						      &error) == DT_OUTCOME_FAILED;
}

/* Remembers the line of a call that has ended, if it may be one of the last. */
static void remember(struct calls *k, const struct dt_call *c)
{
	const struct dt_full *full = k->fulls.n ? dt_full_of(&k->fulls, c->id) : NULL;
	char *text = dt_out_room(k->out, LINE), *p = put_whole(k, text, c, c->tid, 0, full);

	*p++ = '\n';
	dt_last_lines_add(&k->last, c->end, c->tid, text, (size_t)(p - text));
	k->failed |= k->last.no_memory;
}

static void end_call(struct calls *k, const struct dt_call *c)
{
	uint32_t note = c->note ? *c->note : new_note(k, dt_pair_caller_note(k->pair), c->function);
	struct output *to;

	if (!(note & SHOWN))
		return;
	if (!(note & OPENED) && k->late && !is_wanted(k, c))
		return;
	to = output_of(k, c->tid);
	if (!to)
		return;
	if (note & OPENED) {
		line(k, to, DT_KEPT_CLOSE, c, c->tid, LEVEL(note));
		return;
	}
	if (k->late || !c->note) /* otherwise on_begin() has opened them */
		open_callers(k, to, c->tid);
	if (k->last.most)
		remember(k, c);
	line(k, to, DT_KEPT_WHOLE, c, c->tid, k->single ? 0 : LEVEL(note));
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct calls *k = ctx;

	end_call(k, c);
	if (__builtin_expect(k->fulls.n != 0, 0))
		dt_full_forget(&k->fulls, c->id);
}

static void on_loss(void *ctx, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end)
{
	struct calls *k = ctx;
	const uint32_t *caller;
	struct output *to;
	char *text, *p;

	if (tid == DT_NO_TID)
		tid = k->last_tid;
	if (!wanted(k, tid))
		return;
	to = output_of(k, tid);
	if (!to)
		return;
	dt_pair_look(k->pair, tid);
	open_callers(k, to, tid);
	caller = dt_pair_caller_note(k->pair);
	text = dt_out_room(k->out, LINE);
	p = put_start(k, put_blank(text), tid, next_level(caller));
	p = stpcpy(p, "/* ");
	p += dt_text_decimal(p, lost);
	p = stpcpy(p, " records lost here");
	if (begin == 0) {
		p = stpcpy(p, ", or before */");
	} else if (end > begin) {
		p = stpcpy(p, ", within");
		p = stpcpy(put_duration(k, p, end - begin) - 2, " */");
	} else {
		p = stpcpy(p, " */");
	}
	*p++ = '\n';
	text_line(k, to, text, (size_t)(p - text));
}

/* Writes at most 512 bytes of a name or description so that it can not end the comment it is in. */
static char *put_quotable(char *p, const char *s)
{
	for (int i = 0; i < 512 && s[i]; i++) {
		bool ends = s[i] == '/' && i && s[i - 1] == '*';

		*p++ = (unsigned char)s[i] < ' ' || s[i] == 127 || ends ? '?' : s[i];
	}
	return p;
}

static char *put_0x(char *p, uint64_t v)
{
	p = stpcpy(p, "0x");
	return p + dt_text_hex(p, v);
}

/* Writes an event as "kernel TIMER(0x11): Timer interrupt", or by its numbers if it has no name. */
static char *put_event(const struct calls *k, char *p, uint64_t body)
{
	const struct dt_event_row *row = dt_reader_event(k->reader, body);

	if (!row) {
		p = stpcpy(p, "event ");
		return put_0x(p, body);
	}
	p = put_quotable(p, row->subsystem_name);
	if (row->event == DT_NO_EVENT) {
		p = stpcpy(p, " event ");
		p += dt_text_decimal(p, body >> 32 & 0xffff);
	} else {
		*p++ = ' ';
		p = put_quotable(p, row->name);
	}
	*p++ = '(';
	p = put_0x(p, (uint32_t)body);
	*p++ = ')';
	if (row->description[0] && strcmp(row->description, row->name)) {
		p = stpcpy(p, ": ");
		p = put_quotable(p, row->description);
	}
	return p;
}

static char *put_channel(char *p, const char *what, uint64_t v)
{
	p = stpcpy(p, what);
	return put_0x(p, dt_message_channel(v));
}

/* Writes what a record means that is no entry, exit or point. NULL: its kind is unknown. */
static char *put_other(const struct calls *k, char *p, const struct dt_record *r)
{
	char name[9] = "";

	switch (r->kind) {
	case DT_EVENT:
		return put_event(k, p, r->value[0]);
	case DT_SEND:
		return put_channel(p, "message sent, channel ", r->value[0]);
	case DT_RECEIVE:
		return put_channel(p, "message received, channel ", r->value[0]);
	case DT_SWITCH:
		p = stpcpy(p, "runs on core ");
		return p + dt_text_decimal(p, r->core);
	case DT_RUNDOWN:
		memcpy(name, &r->value[1], 8);
		p = stpcpy(p, "exists");
		if (name[0]) {
			p = stpcpy(p, ": ");
			p = put_quotable(p, name);
		}
		return p;
	default:
		return NULL;
	}
}

static bool take_first(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

/* Says whether the innermost call is of a function that is not shown: then what happens in it is
 * not shown either. */
static bool is_of_hidden(struct calls *k)
{
	const struct dt_call *c = NULL;

	dt_pair_callers(k->pair, take_first, &c);
	return c && !is_shown(k, c->function);
}

/*
 * Writes the beginning of a line for something that is not a call, after the lines of the calls
 * that it happened in. own: the thread recorded it itself, so it belongs to the innermost call.
 * NULL: it is not shown.
 */
static struct output *start_line(struct calls *k, uint32_t tid, bool own, char **text, char **p)
{
	struct output *to;

	if (k->late || (own && is_of_hidden(k)))
		return NULL;
	to = output_of(k, tid);
	if (!to)
		return NULL;
	open_callers(k, to, tid);
	*text = dt_out_room(k->out, LINE);
	*p = put_start(k, put_blank(*text), tid, next_level(dt_pair_caller_note(k->pair)));
	return to;
}

/* Writes the line of an event. It is made in a buffer of its own, because events can be long. */
static void print_event(struct calls *k, const struct dt_record *r, unsigned mask,
			const struct dt_text *t)
{
	static struct dt_out line = {.fd = -1};
	const char *event;
	struct output *to;
	char *text, *p;
	size_t n;

	dt_out_forget(&line);
	if (t && dt_text_of_point(t)) {
		dt_out_text(&line, "  ");
		dt_text_print(&line, k->reader, t, NULL);
	} else {
		dt_event_print(&line, k->reader, r, mask, t);
	}
	event = dt_out_kept(&line, &n);
	k->failed |= !event;
	to = event ? start_line(k, r->tid, true, &text, &p) : NULL;
	if (!to)
		return;
	p = stpcpy(p, "* ");
	if (n < LINE - 1024) {
		memcpy(p, event, n);
		p += n;
		*p++ = '\n';
		text_line(k, to, text, (size_t)(p - text));
		return;
	}
	text_line(k, to, text, (size_t)(p - text));
	text_bytes(k, to, event, n);
	text_bytes(k, to, "\n", 1);
}

/* ---- arguments in records after the entry ---- */

/* Returns the innermost call if its line is still to be written and a record of this function row
 * can belong to its entry; or NULL. */
static const struct dt_call *call_of(struct calls *k, uint32_t function)
{
	const struct dt_call *c = NULL;

	dt_pair_callers(k->pair, take_first, &c);
	if (!c || !c->note || *c->note & OPENED)
		return NULL;
	return dt_entry_records_of(k->reader, function, c->entry) ? c : NULL;
}

static bool take_values(struct calls *k, const struct dt_site *site, const struct dt_record *r)
{
	const struct dt_call *c = call_of(k, site->function);

	if (!c)
		return false;
	dt_entry_records_values(&k->fulls, c->id, &k->formats, site, r, c->argument);
	k->failed |= k->fulls.failed;
	return true;
}

static bool take_text(struct calls *k, const struct dt_text *t)
{
	const struct dt_call *c = k->ending ? NULL : call_of(k, t->function);

	if (!c)
		return false;
	dt_entry_records_text(&k->fulls, c->id, k->reader, t, c->argument);
	k->failed |= k->fulls.failed;
	return true;
}

static void on_text(void *ctx, const struct dt_text *t)
{
	if (!dt_text_of_point(t) || !take_text(ctx, t))
		print_event(ctx, &t->head, 1, t);
}

/* Writes the line of a point, "* sync+4(rax=0x1)", or of a further record of its values. */
static void print_point(struct calls *k, const struct dt_site *site, const struct dt_record *r)
{
	struct output *to;
	char *text, *p;

	to = start_line(k, r->tid, true, &text, &p);
	if (!to)
		return;
	p = stpcpy(p, "* ");
	if (site->place == DT_SITE_POINT)
		p = dt_format_point(&k->formats, p, site->function, r->value, r->flags & DT_FAULT);
	else
		p = dt_format_more(&k->formats, stpcpy(p, "  "), site->function, r->value,
				   r->flags & DT_FAULT);
	*p++ = '\n';
	text_line(k, to, text, (size_t)(p - text));
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct calls *k = ctx;
	const struct dt_site *site = dt_reader_site(k->reader, s->site[i]);
	struct dt_record r;
	struct output *to;
	char *text, *p, *end;

	dt_span_record(k->reader, s, i, &r);
	if (dt_texts_take(&k->texts, site, &r))
		return;
	if (site->place == DT_SITE_POINT_MORE && take_values(k, site, &r))
		return;
	if (site->place == DT_SITE_POINT || site->place == DT_SITE_POINT_MORE) {
		print_point(k, site, &r);
		return;
	}
	/* an event of the program's own; other events, of imported traces, become comments */
	if (dt_event_is(&r) && site->place == DT_SITE_EVENT) {
		print_event(k, &r, site->mask, NULL);
		return;
	}
	/* a core that runs none of the threads says nothing of any thread */
	if (r.kind == DT_SWITCH && (s->tid == DT_NO_TID || !wanted(k, s->tid)))
		return;
	to = start_line(k, s->tid, r.kind != DT_SWITCH && r.kind != DT_RUNDOWN, &text, &p);
	if (!to)
		return;
	end = put_other(k, stpcpy(p, "/* "), &r);
	if (end)
		end = stpcpy(end, " */\n");
	else
		end = p + dt_text_long(p, &r, NULL, site->mask);
	text_line(k, to, text, (size_t)(end - text));
}

/* ---- the command ---- */

static int on_pause(void *ctx, const struct dt_pause *p)
{
	struct calls *k = ctx;

	if (p->end > k->resumed)
		k->resumed = p->end;
	return 0;
}

static int run(struct calls *k)
{
	struct dt_pair_events events = {.begin = on_begin,
					.end = on_end,
					.loss = on_loss,
					.other = on_other,
					.ctx = k,
					.cost = k->subtract ? k->cost : NULL};
	struct dt_reader_range range = {.order = k->merge ? DT_BY_TIME : DT_BY_THREAD,
					.values = true};
	struct dt_error e = {""};
	struct dt_span s;
	uint32_t tid = DT_NO_TID;
	int rc;

	if (!dt_cmd_range(k->reader, &k->when, &range) ||
	    (k->subtract && !dt_cmd_costs(k->reader, k->cost)) ||
	    (k->min_text && !dt_cmd_duration(k->reader, k->min_text, &k->min)))
		return 2;
	k->choice.reader = k->reader;
	if (k->filter_text && !(k->choice.filter = dt_cmd_filter(k->reader, k->filter_text)))
		return 2;
	k->late = k->min || k->only_failed || k->choice.filter;
	k->single = (k->only_failed || k->choice.filter) && !k->backtrace;
	k->failures.meanings = dt_meanings_of(k->reader);
	k->until = range.to ? range.to : UINT64_MAX;
	if (dt_reader_pauses(k->reader, on_pause, k) < 0)
		return dt_cmd_fail("the pauses in the file can not be read");
	k->ns_per_tick_32 = (uint64_t)(dt_reader_ns_per_tick(k->reader) * 4294967296.0 + 0.5);
	make_short_durations(k);
	k->formats.reader = k->reader;
	k->keep = (struct dt_keep){.fd = -1, .memory_max = KEPT_IN_MEMORY};
	k->out = malloc(sizeof(*k->out));
	k->texts.fn = on_text;
	k->texts.ctx = k;
	k->pair = dt_pair_new(k->reader, &events, true);
	if (!k->pair || !k->out) {
		dt_pair_free(k->pair);
		return dt_cmd_fail("out of memory");
	}
	k->choice.pair = k->pair;
	k->out->fd = STDOUT_FILENO;
	k->out->n = 0;
	k->out->failed = false;
	rc = dt_reader_start(k->reader, &range, &e);
	while (!rc && !k->failed && (rc = dt_reader_next(k->reader, &s, &e)) > 0) {
		rc = 0;
		if (k->out->failed || k->keep.failed)
			break;
		if (s.n && !wanted(k, s.tid) && !dt_pair_unwanted(k->reader, &s))
			continue;
		/* with --merge, lines of a thread must not wait while another thread goes on */
		if (k->merge && !k->late && s.n && s.tid != tid) {
			if (tid != DT_NO_TID && k->to) {
				dt_pair_look(k->pair, tid);
				open_callers(k, k->to, tid);
			}
			tid = s.tid;
		}
		k->choice.span = &s;
		if (dt_pair_span(k->pair, &s) ||
		    (k->choice.filter && dt_filter_failed(k->choice.filter)))
			rc = dt_fail(&e, "out of memory");
	}
	k->choice.span = NULL;
	k->ending = true;
	dt_texts_end(&k->texts);
	if (!rc)
		dt_pair_finish(k->pair);
	dt_pair_free(k->pair);
	dt_fulls_free(&k->fulls);
	if (k->failures.no_memory && !rc)
		rc = dt_fail(&e, "out of memory");
	dt_failures_free(&k->failures);
	if (print_kept(k))
		return 1;
	return rc ? dt_cmd_fail("%s", e.text) : 0;
}

static bool parse_number(const char *text, const char *what, uint32_t *v)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*v = (uint32_t)n;
	if (text[0] >= '0' && text[0] <= '9' && !*end && n < UINT32_MAX)
		return true;
	dt_cmd_fail("'%s' is not a %s", text, what);
	return false;
}

static bool add_thread(struct calls *k, const char *text)
{
	uint32_t *p = realloc(k->thread, (k->threads + 1) * sizeof(*p));

	if (!p)
		return false;
	k->thread = p;
	return parse_number(text, "thread id", &p[k->threads++]);
}

/* Says which options do not go together. Returns 2, or -1 if all do. */
static int refuse(const struct calls *k)
{
	if (k->last.most > 10000 || (k->last.most && k->backtrace) ||
	    (k->last.most && !k->only_failed && !k->filter_text)) {
		dt_cmd_fail("--last is a number up to 10000, with --failed or -f, and without -B");
		return 2;
	}
	if (!k->backtrace || k->only_failed || k->filter_text)
		return -1;
	dt_cmd_fail("-B shows in which calls others were made: it needs --failed or -f");
	return 2;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct calls *k)
{
	static const struct option options[] = {{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"time", required_argument, NULL, 't'},
						{"depth", required_argument, NULL, 'D'},
						{"filter", required_argument, NULL, 'f'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"thread", required_argument, NULL, 3},
						{"merge", no_argument, NULL, 4},
						{"subtract", no_argument, NULL, 5},
						{"failed", no_argument, NULL, 6},
						{"last", required_argument, NULL, 7},
						{"backtrace", no_argument, NULL, 'B'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct dt_error e;
	int c;

	/* `devtrace PROG` calls this after it has parsed options of its own */
	optind = 0;
	while ((c = getopt_long(argc, argv, "F:N:f:t:D:Bh", options, NULL)) != -1) {
		switch (c) {
		case 'F':
		case 'N':
			if (dt_selection_add(&k->select, optarg, c == 'N', &e)) {
				dt_cmd_fail("%s", e.text);
				return 2;
			}
			break;
		case 't':
			k->min_text = optarg;
			break;
		case 'f':
			k->filter_text = optarg;
			break;
		case 'D':
			if (!parse_number(optarg, "depth", &k->depth))
				return 2;
			break;
		case 1:
			k->when.from = optarg;
			break;
		case 2:
			k->when.to = optarg;
			break;
		case 3:
			if (!add_thread(k, optarg))
				return 2;
			break;
		case 4:
			k->merge = true;
			break;
		case 5:
			k->subtract = true;
			break;
		case 6:
			k->only_failed = true;
			break;
		case 7:
			if (!parse_number(optarg, "number of lines", &k->last.most))
				return 2;
			break;
		case 'B':
			k->backtrace = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("calls");
		}
	}
	return refuse(k);
}

int dt_cmd_calls(int argc, char **argv)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct calls k = {.depth = UINT32_MAX, .colour = isatty(STDOUT_FILENO)};
	int status = parse(argc, argv, &k);

	if (status < 0) {
		k.reader = dt_cmd_open(argc, argv, "calls", &needs, &status);
		if (k.reader) {
			status = run(&k);
			dt_cmd_say_lost(k.reader);
			free(k.shown); /* make it anew, for all functions that there are by now */
			k.shown = dt_cmd_shown(k.reader, &k.select);
			dt_cmd_unhooked(k.reader, k.shown, NULL);
			dt_reader_close(k.reader);
		}
	}
	dt_selection_clear(&k.select);
	dt_cmd_filter_free(k.choice.filter);
	dt_formats_free(&k.formats);
	dt_last_lines_free(&k.last);
	free(k.thread);
	free(k.shown);
	free(k.waiting);
	free(k.out);
	free(k.duration);
	return status;
}
