/* SPDX-License-Identifier: MIT */
/*
 * What of a trace is wanted, in words (doc/timeline.md has them for its reader):
 *
 *	core:0,2-4		on these cores
 *	process:PATTERN		of these processes: number, name of the program
 *	thread:PATTERN		of these threads: number, name
 *	function:PATTERN	calls of, and points in: symbols/pattern.h
 *	event:PATTERN		events: "net:send", "net:*"; messages are "message:sent",
 *":received" time>10us, time<2ms	calls, and times on a core, of that length result<0, arg1=5,
 *len>9	calls by a value: the first argument, one by its name
 *	value>4			events and points by their argument or first value
 *
 * A word of something else is a pattern of functions. Words are alternatives of each other when
 *they begin alike ("core:", "process:" ...) and have to be true together otherwise; values and
 *times have to be all true. A '-' in front takes away what the pattern means. A word narrows what
 *it is about and leaves the rest: "function:f" hides no event. '"' on both sides holds words
 *together.
 */
#ifndef DT_ANALYSE_FILTER_H
#define DT_ANALYSE_FILTER_H

#include "analyse/pair.h"

struct dt_filter;

/* Of a trace; r is to live as long. NULL: what is wrong with the text is in *e. */
struct dt_filter *dt_filter_new(const char *text, struct dt_reader *r, struct dt_error *e);
void dt_filter_free(struct dt_filter *f);

/* Out of memory: nothing that it has said since is to be believed. */
bool dt_filter_failed(const struct dt_filter *f);

/* Does it look at arguments, results or values? */
bool dt_filter_needs_values(const struct dt_filter *f);

/* Where and by whom: all that is shown has that. tid DT_NO_TID: nobody. */
bool dt_filter_place(struct dt_filter *f, uint16_t core, uint32_t tid);
/* A call that begins: its function and arguments. */
bool dt_filter_begin(struct dt_filter *f, const struct dt_call *c);
/* One that has ended: its result and length, no more of the above. */
bool dt_filter_end(struct dt_filter *f, const struct dt_call *c);
/* Ticks of something that is no call. */
bool dt_filter_time(const struct dt_filter *f, uint64_t ticks);
/* An event or message by its body, a point by its function and first value. */
bool dt_filter_event(struct dt_filter *f, uint8_t kind, uint64_t body);
bool dt_filter_point(struct dt_filter *f, uint32_t function, uint64_t value);

#endif
