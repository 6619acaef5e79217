/* SPDX-License-Identifier: MIT */
/* The lines about a call. */
#include "cmd/calls-work.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "core/text.h"
#include "show/failure.h"
#include "show/marks.h"

#define SHORT 4096u /* ticks: durations below this have their text made in advance */

/* Returns the unit for a duration in ns: by what it is divided, *name what it is called. */
static uint64_t unit_of(const struct calls *k, uint64_t ns, const char **name)
{
	static const struct {
		const char *name;
		uint64_t by;
	} all[] = {[DT_UNITS_US] = {"us  ", 1},
		   [DT_UNITS_MS] = {"ms  ", 1000},
		   [DT_UNITS_S] = {"s   ", 1000000}};
	enum dt_calls_units u = k->units;

	if (u == DT_UNITS_AUTO)
		u = ns < 1000000 ? DT_UNITS_US : ns < 1000000000 ? DT_UNITS_MS : DT_UNITS_S;
	*name = all[u].name;
	return all[u].by;
}

/* Writes a duration in sixteen columns, "     12.345 us  ", or more if it needs them. */
char *dt_calls_any_duration(const struct calls *k, char *p, uint64_t ticks)
{
	uint64_t ns = (uint64_t)((unsigned __int128)ticks * k->ns_per_tick_32 >> 32), us;
	const char *unit = "us  ";
	unsigned rest;
	char digits[DT_DIGITS];
	size_t n;

	if (k->units == DT_UNITS_NS) {
		n = dt_text_decimal(digits, ns);
		memset(p, ' ', 16);
		p += n < 11 ? 11 - n : 0;
		memcpy(p, digits, n);
		memcpy(p + n, " ns  ", 5);
		return p + n + 5;
	}
	if (k->units != DT_UNITS_US)
		ns /= unit_of(k, ns, &unit);
	us = ns < UINT32_MAX ? (uint32_t)ns / 1000 : ns / 1000;
	rest = (unsigned)(ns - 1000 * us);
	n = dt_text_decimal(digits, us);
	memset(p, ' ', 16);
	p += n < 7 ? 7 - n : 0;
	for (size_t i = 0; i < n; i++)
		*p++ = digits[i];
	*p++ = '.';
	*p++ = (char)('0' + rest / 100);
	*p++ = (char)('0' + rest / 10 % 10);
	*p++ = (char)('0' + rest % 10);
	*p++ = ' ';
	memcpy(p, unit, 4);
	return p + 4;
}

/* Makes the texts of short durations in advance: most calls are short. */
void dt_calls_short_durations(struct calls *k)
{
	char text[DT_DIGITS + 16];

	k->duration = malloc(SHORT * sizeof(*k->duration));
	for (k->shorts = 0; k->duration && k->shorts < SHORT; k->shorts++) {
		if (dt_calls_any_duration(k, text, k->shorts) != text + 16)
			break;
		memcpy(k->duration[k->shorts], text, 16);
	}
}

/* Writes the columns of --merge: the thread, and in a fleet the machine before it. */
static char *put_thread(const struct calls *k, char *p, uint32_t tid)
{
	char digits[DT_DIGITS];
	size_t n = dt_text_decimal(digits, dt_reader_number(k->reader, tid));
	size_t host = k->host ? strlen(k->host) : 0;

	memset(p, ' ', k->host_room + DT_DIGITS + 2);
	if (k->host) {
		p = stpcpy(p + k->host_room - host, k->host);
		*p++ = ':';
		memset(p, ' ', DT_DIGITS + 2);
		memcpy(p, digits, n);
	} else {
		memcpy(p + (n < 7 ? 7 - n : 0), digits, n);
	}
	return p + (n < 7 ? 7 : n) + 2;
}

char *dt_calls_start(const struct calls *k, char *p, uint32_t tid, uint32_t level)
{
	unsigned spaces = 2 * (level < DEEPEST ? level : DEEPEST);

	if (k->merge && !k->fields.list.chosen)
		p = put_thread(k, p, tid);
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
bool dt_calls_ended_by_exec(const struct calls *k, const struct dt_call *c)
{
	return dt_reader_exec(k->reader, c->tid, c->begin) <= c->end;
}

/* Says whether the part of the trace that is read goes on until that tick. */
static bool is_seen(const struct calls *k, uint64_t ticks)
{
	return ticks != UINT64_MAX && ticks <= k->until;
}

/*
 * Writes what became of the process of a call that is open. It writes nothing if the trace does
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

char *dt_calls_quotable(char *p, const char *s)
{
	for (int i = 0; i < 512 && s[i]; i++) {
		bool ends = s[i] == '/' && i && s[i - 1] == '*';

		*p++ = (unsigned char)s[i] < ' ' || s[i] == 127 || ends ? '?' : s[i];
	}
	return p;
}

char *dt_calls_fate(const struct calls *k, char *p, const struct dt_call *c)
{
	if (c->flags & DT_CALL_OPEN)
		return put_fate(k, p, c, c->tid);
	return dt_calls_ended_by_exec(k, c) ? stpcpy(p, executed) : p;
}

/* Writes a length of time without spaces around it. */
static char *put_short(const struct calls *k, char *p, uint64_t ticks)
{
	char text[DT_DIGITS + 16], *begin = text, *end = dt_calls_any_duration(k, text, ticks);

	while (*begin == ' ')
		begin++;
	while (end[-1] == ' ')
		end--;
	memcpy(p, begin, (size_t)(end - begin));
	return p + (end - begin);
}

/* Writes what the longest wait was for, and who ended it, as far as that is known. */
static char *put_longest(const struct calls *k, char *p, const struct dt_call *c, bool self,
			 uint64_t waited)
{
	const struct dt_waker *by = dt_pair_waker(k->pair, c->woken[self]);
	const char *which = waited == c->longest[self] ? "" : ", longest";
	char text[DT_WAKER_TEXT];

	if (c->waited_for[self]) {
		p = stpcpy(stpcpy(p, which), " for ");
		p = dt_calls_quotable(p, dt_pair_waited_for(k->pair, c->waited_for[self]));
		which = "";
	}
	if (!by)
		return p;
	*dt_waker_put(text, k->reader, by, true) = '\0';
	p = stpcpy(p, *which ? ", longest woken by " : ", woken by ");
	p = dt_calls_quotable(p, text);
	p = put_short(k, stpcpy(p, ", ran "), c->queued[self]);
	return stpcpy(p, " later");
}

/* Writes how long its thread was on no processor, and whether that was for want of one. */
static char *put_wait(const struct calls *k, char *p, const struct dt_call *c, bool lines_inside)
{
	uint64_t waited = wait_of(c, lines_inside);

	p = stpcpy(p, c->flags & DT_CALL_UNSEEN ? "waited at least " : "waited ");
	p = put_short(k, p, waited);
	if (c->preempted >= c->waited)
		return stpcpy(p, " for a processor");
	p = put_longest(k, p, c, lines_inside, waited);
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

	if (!flags && !k->terminal.colour) {
		memcpy(p, "  /* ", 5);
		p = dt_format_name(&k->formats, p + 5, *function);
		memcpy(p, " */", 3);
		return p + 3;
	}
	p = stpcpy(p, k->terminal.colour ? "  \033[2m/*" : "  /*");
	if (function) {
		*p++ = ' ';
		p = dt_format_name(&k->formats, p, *function);
		separator = ": ";
	}
	while ((flag = dt_marks_next(&at, flags, &text))) {
		p = stpcpy(stpcpy(p, separator), text);
		if (flag == DT_CALL_TAIL &&
		    (c->flags & (DT_CALL_FOLDS | DT_CALL_LEFT | DT_CALL_INFERRED)) == DT_CALL_FOLDS)
			p = dt_format_name(&k->formats, stpcpy(p, " of "), c->folded);
		if (flag == DT_CALL_OPEN)
			p = put_fate(k, p, c, tid);
		else if (flag == DT_CALL_UNWOUND && dt_calls_ended_by_exec(k, c))
			p = stpcpy(p, executed);
		separator = ", ";
	}
	if (flags & DT_CALL_WAITED)
		p = put_wait(k, stpcpy(p, separator), c, function != NULL);
	return stpcpy(p, k->terminal.colour ? " */\033[0m" : " */");
}

static void end_line(struct calls *k, char *line, char *p)
{
	*p++ = '\n';
	dt_out_used(k->out, dt_calls_fit(k, line, (size_t)(p - line)));
}

/* Writes the chosen columns of a line about a call. */
static char *put_columns(struct calls *k, char *p, const struct dt_call *c, uint32_t tid,
			 enum dt_kept_kind kind)
{
	bool at_end = kind == DT_KEPT_CLOSE || c->flags & DT_CALL_NO_ENTRY;

	return dt_calls_columns(k, p,
				&(struct dt_calls_line){.call = c,
							.tid = tid,
							.ticks = at_end ? c->end : c->begin,
							.ends = kind != DT_KEPT_OPEN});
}

char *dt_calls_other_columns(struct calls *k, char *p, struct output *to, uint32_t tid,
			     uint64_t ticks)
{
	if (!k->fields.list.chosen)
		return dt_calls_blank(p);
	k->before = &to->before;
	return dt_calls_columns(k, p, &(struct dt_calls_line){.tid = tid, .ticks = ticks});
}

/* Writes what stands before the call, and notes where it begins. */
static inline char *put_start(struct calls *k, char *p, const struct dt_call *c, uint32_t tid,
			      uint32_t level)
{
	k->at.start = p;
	k->at.function = c->function;
	k->at.call = true;
	return k->at.name = dt_calls_start(k, p, tid, level);
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
	p = k->fields.list.chosen ? put_columns(k, p, c, tid, DT_KEPT_OPEN) : dt_calls_blank(p);
	p = put_start(k, p, c, tid, level);
	p = put_call(k, p, c, full);
	k->at.close = p - 1;
	*p++ = ' ';
	*p++ = '{';
	k->at.must = p;
	if (c->flags & MARKED_BEGIN)
		p = put_marks(k, p, c->flags & MARKED_BEGIN, NULL, c, tid);
	return p;
}

void dt_calls_print_open(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level)
{
	char *line = dt_out_room(k->out, LINE);

	end_line(k, line, put_open(k, line, c, tid, level, NULL));
}

/* Writes the result, and notes where it and the name of the reason end. */
static char *put_result(struct calls *k, char *p, const struct dt_call *c,
			const struct dt_full *full)
{
	const char *meant =
		full ? dt_full_value(full, DT_FULL_RESULT, strlen(DT_FULL_RESULT)) : NULL;
	uint32_t error;
	char *end;

	if (meant)
		p = stpcpy(stpcpy(p, " = "), meant);
	else if (c->result)
		p = dt_format_result(&k->formats, p, c->function, c->result);
	k->at.must = p;
	if (!c->result || !dt_format_failed(&k->formats, c->function, c->result, &error) || !error)
		return p;
	end = dt_failure_put(p, error);
	k->at.must = memmem(p, (size_t)(end - p), " (", 2);
	if (!k->at.must)
		k->at.must = end;
	return end;
}

static char *put_times(const struct calls *k, char *p, const struct dt_call *c)
{
	return c->flags & DT_CALL_UNTIMED ? dt_calls_blank(p)
					  : dt_calls_duration(k, p, dt_call_ticks(c));
}

static char *put_close(struct calls *k, char *p, const struct dt_call *c, uint32_t tid,
		       uint32_t level)
{
	p = k->fields.list.chosen ? put_columns(k, p, c, tid, DT_KEPT_CLOSE) : put_times(k, p, c);
	p = put_start(k, p, c, tid, level);
	*p++ = '}';
	k->at.call = false;
	k->at.close = p;
	p = put_result(k, p, c, k->fulls.n ? dt_full_of(&k->fulls, c->id) : NULL);
	return put_marks(k, p, marked_end(c, true), &c->function, c, tid);
}

void dt_calls_print_close(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level)
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
	p = k->fields.list.chosen ? put_columns(k, p, c, tid, DT_KEPT_WHOLE) : put_times(k, p, c);
	p = put_start(k, p, c, tid, level);
	p = put_call(k, p, c, full);
	k->at.close = p - 1;
	p = put_result(k, p, c, full);
	if (c->flags & (MARKED_BEGIN | MARKED_END | DT_CALL_WAITED))
		p = put_some_marks(k, p, (c->flags & MARKED_BEGIN) | marked_end(c, false), c, tid);
	return p;
}

void dt_calls_print_whole(struct calls *k, const struct dt_call *c, uint32_t tid, uint32_t level)
{
	char *line = dt_out_room(k->out, LINE);

	end_line(k, line, put_whole(k, line, c, tid, level, NULL));
}

/*
 * Makes a line about a call as text at once, and writes or keeps that: a line kept by
 * dt_kept_call() has neither arguments in full nor the times of begin and end.
 */
void dt_calls_call_text(struct calls *k, struct output *to, enum dt_kept_kind kind,
			const struct dt_call *c, uint32_t tid, uint32_t level,
			const struct dt_full *full)
{
	char *text, *p;

	if (k->json) {
		if (kind == DT_KEPT_CLOSE && k->fulls.n)
			full = dt_full_of(&k->fulls, c->id);
		if (kind != DT_KEPT_OPEN)
			dt_calls_json_call(k, c, full);
		return;
	}
	text = dt_out_room(k->out, LINE);
	k->before = &to->before;
	p = kind == DT_KEPT_OPEN    ? put_open(k, text, c, tid, level, full)
	    : kind == DT_KEPT_CLOSE ? put_close(k, text, c, tid, level)
				    : put_whole(k, text, c, tid, level, full);
	*p++ = '\n';
	dt_calls_text(k, to, text, dt_calls_fit(k, text, (size_t)(p - text)));
}

/* Remembers the line of a call that has ended, if it may be one of the last. */
void dt_calls_remember(struct calls *k, const struct dt_call *c)
{
	const struct dt_full *full = k->fulls.n ? dt_full_of(&k->fulls, c->id) : NULL;
	char *text = dt_out_room(k->out, LINE), *p;

	k->before = &k->last_before;
	p = put_whole(k, text, c, c->tid, 0, full);
	*p++ = '\n';
	dt_last_lines_add(&k->last, c->end, c->tid, text,
			  dt_calls_fit(k, text, (size_t)(p - text)));
	k->failed |= k->last.no_memory;
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
			dt_calls_print_thread(k, l->line[i].tid);
		dt_out_bytes(k->out, l->line[i].text, l->line[i].n);
	}
	print_number(k, "\n# all ", l->total, ", in the order of time\n");
}

/* Writes the lines that have been kept, one thread after the other: those of the threads after the
 * first, or all. */
int dt_calls_print_kept(struct calls *k)
{
	struct dt_kept_cursor *c = malloc(sizeof(*c));
	size_t first = k->last.most ? 0 : 1;

	k->failed |= !c;
	if (first == 0)
		print_last(k);
	for (size_t i = first; i < k->outputs && c && !k->json; i++) {
		struct output *o = &k->output[i];

		if (i)
			dt_out_char(k->out, '\n');
		if (!k->merge)
			dt_calls_print_thread(k, o->tid);
		dt_kept_rewind(c, &k->keep, &o->kept);
		while (!k->out->failed && dt_kept_next(c, values_of, k)) {
			if (c->kind == DT_KEPT_TEXT)
				dt_out_bytes(k->out, c->text, c->text_n);
			else if (c->kind == DT_KEPT_OPEN)
				dt_calls_print_open(k, &c->call, o->tid, c->line_level);
			else if (c->kind == DT_KEPT_CLOSE)
				dt_calls_print_close(k, &c->call, o->tid, c->line_level);
			else
				dt_calls_print_whole(k, &c->call, o->tid, c->line_level);
		}
		dt_kept_end(c);
	}
	free(c);
	dt_keep_close(&k->keep);
	free(k->output);
	return dt_out_end(k->out) | k->failed | k->keep.failed;
}
