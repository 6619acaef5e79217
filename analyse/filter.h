/* SPDX-License-Identifier: MIT */
/*
 * What of a trace is wanted, in words (doc/timeline.md describes them for users):
 *
 *	core:0,2-4		on these cores
 *	process:PATTERN		of these processes: number, name of the program
 *	thread:PATTERN		of these threads: number, name
 *	function:PATTERN	calls of these functions, and points in them: symbols/pattern.h
 *	event:PATTERN		events: "net:send", "net:*"; messages are "message:sent" and
 *				"message:received"
 *	time>10us, time<2ms	calls, and times on a core, of that length
 *	result<0, arg1=5, len>9	calls by a value: the result, the first argument, one by its name
 *	failed			calls whose result says that they failed;
 *	-failed			calls whose result says that they did not
 *	value>4			events and points by their argument or first value
 *
 * Any other word is a pattern of functions. Words that begin alike ("core:", "process:" ...) are
 * alternatives; words that begin differently have to be true together, and so do all words about
 * values and times. A '-' before a word takes away what its pattern means. A word narrows what it
 * is about and leaves the rest: "function:f" hides no event. '"' on both sides holds words
 * together.
 */
#ifndef DT_ANALYSE_FILTER_H
#define DT_ANALYSE_FILTER_H

#include "analyse/pair.h"

struct dt_filter;

/* Makes a filter for the trace of r, which must live as long. NULL: *e says what is wrong with the
 * text, or that memory is out. */
struct dt_filter *dt_filter_new(const char *text, struct dt_reader *r, struct dt_error *e);
void dt_filter_free(struct dt_filter *f);

/* Returns whether memory was out: then the answers since are not to be trusted. */
bool dt_filter_failed(const struct dt_filter *f);

/* Returns whether the filter looks at arguments, results or values. */
bool dt_filter_needs_values(const struct dt_filter *f);

/* Returns whether this core and thread are wanted; this holds for everything. tid DT_NO_TID: no
 * thread. */
bool dt_filter_place(struct dt_filter *f, uint16_t core, uint32_t tid);
/* Returns whether a call that begins is wanted, by its function and arguments. */
bool dt_filter_begin(struct dt_filter *f, const struct dt_call *c);
/* Returns whether a call that has ended is wanted, by its result and length only. */
bool dt_filter_end(struct dt_filter *f, const struct dt_call *c);
/* Returns whether something other than a call is wanted, by its length in ticks. */
bool dt_filter_time(const struct dt_filter *f, uint64_t ticks);
/* Return whether an event or message is wanted, by its body; and a point, by its function and first
 * value. */
bool dt_filter_event(struct dt_filter *f, uint8_t kind, uint64_t body);
bool dt_filter_point(struct dt_filter *f, uint32_t function, uint64_t value);

#endif
