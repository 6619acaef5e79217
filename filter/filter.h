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
 *	whence=SEEK_SET		calls by a value that has names; flags=O_CREAT|*: with that bit
 *	path=/etc*, name!=*.so	calls whose argument of that name leads to a text like that
 *	error=ENOENT		calls that failed for that reason; error!=ENOENT: for another
 *	failed			calls whose result says that they failed;
 *	-failed			calls whose result says that they did not
 *	value>4			events and points by their argument or first value
 *	depth<3			calls by how many calls they are in, themselves counted; 1: in none
 *	in:PATTERN		calls of these functions and all calls in them;
 *	-in:PATTERN		neither these nor those in them
 *	caller:PATTERN		calls made by these functions
 *	request:PATTERN		calls of these functions with all that happens in them, where the
 *				other words hold for such a call; only while recording
 *	file:PATTERN		calls of functions whose source file has that name, or path
 *	codesize>200		calls of functions whose code has so many bytes
 *
 * Any other word is a pattern of functions. Words that begin alike ("core:", "process:" ...) are
 * alternatives; words that begin differently have to be true together, and so do all words about
 * values and times. A '-' before a word takes away what its pattern means. A word narrows what it
 * is about and leaves the rest: "function:f" hides no event. '"' on both sides holds words
 * together.
 */
#ifndef DT_FILTER_FILTER_H
#define DT_FILTER_FILTER_H

#include "core/error.h"
#include "filter/call.h"
#include "filter/meanings.h"

struct dt_filter;

/* Makes a filter; what *meanings refers to must live as long. NULL: *e says what is wrong with the
 * text, or that memory is out. */
struct dt_filter *dt_filter_new(const char *text, const struct dt_meanings *meanings,
				struct dt_error *e);
void dt_filter_free(struct dt_filter *f);

/* Returns whether memory was out: then the answers since are not to be trusted. */
bool dt_filter_failed(const struct dt_filter *f);

/* Returns whether the filter looks at arguments, results or values. */
bool dt_filter_needs_values(const struct dt_filter *f);

/* Returns whether only calls that failed are wanted. */
bool dt_filter_wants_failures(const struct dt_filter *f);

/* The i-th condition on a text: the argument's name, and the pattern. False: there are not so many.
 */
bool dt_filter_text(const struct dt_filter *f, unsigned i, const char **name, const char **pattern);

/* Returns whether the i-th condition on a text was about a number that has names, in calls of some
 * function that was met. */
bool dt_filter_text_named(const struct dt_filter *f, unsigned i);

/* When the filter has been used: finds a condition on a number that has names, in all functions
 * that were met none like those of the condition. False: there is none. */
bool dt_filter_no_name(const struct dt_filter *f, const char **name, const char **pattern);

/* Who knows the texts of calls. */
struct dt_filter_texts {
	void *ctx; /* freed by `free' with the filter; `free' may be NULL */
	void (*free)(void *ctx);
	/* Says whether the text of condition i matches: 1; it does not: 0; -1: there is no text, so
	 * that the condition is not true, nor the opposite; -2: out of memory, or the like. */
	int (*matches)(void *ctx, const struct dt_call *c, unsigned i);
};
/* Sets it, as long as there is none no condition on a text is true. They are looked at when a call
 * ends. */
void dt_filter_set_texts(struct dt_filter *f, const struct dt_filter_texts *texts);

/* Returns what was set. */
const struct dt_filter_texts *dt_filter_texts_of(const struct dt_filter *f);

/* Returns whether this core and thread are wanted; this holds for everything. tid DT_NO_TID: no
 * thread. */
bool dt_filter_place(struct dt_filter *f, uint16_t core, uint32_t tid);
/* Returns whether all cores and threads are. */
bool dt_filter_anywhere(const struct dt_filter *f);
/* The same, on whatever core. */
bool dt_filter_thread(struct dt_filter *f, uint32_t tid);

/*
 * What a filter knows of an open call for those made in it, a set of bits that the user keeps with
 * the call.
 */
#define DT_AROUND_IN	 1u /* it, or a call around it, is one of those of `in:' */
#define DT_AROUND_OUT	 2u /* the same of `-in:' */
#define DT_AROUND_CALLER 4u /* it is one of those of `caller:' */
#define DT_AROUND_ALL	 7u

/* Returns the bits of a call of that function, from those of the call that it is made in. */
uint32_t dt_filter_around(struct dt_filter *f, uint32_t caller, uint32_t function);
/* Returns the bits that stand for a caller where none is known. */
uint32_t dt_filter_nobody(const struct dt_filter *f);

/* Returns whether a call that begins is wanted, by its function, arguments, depth, and the bits of
 * the call that it is made in. */
bool dt_filter_begin(struct dt_filter *f, const struct dt_call *c, uint32_t caller);

/* The two parts of that: by the function, the bits of the call that it is made in, and the depth;
 * and by the four values of the entry. */
bool dt_filter_here(struct dt_filter *f, uint32_t function, uint32_t caller, uint32_t depth);
bool dt_filter_arguments(struct dt_filter *f, uint32_t function, const uint64_t *argument);

/* Returns whether calls of a function may be wanted, by the words about functions alone. */
bool dt_filter_function(struct dt_filter *f, uint32_t function);

/* Returns whether there are words "request:"; and whether a function is one of them. */
bool dt_filter_has_requests(const struct dt_filter *f);
bool dt_filter_is_request(struct dt_filter *f, uint32_t function);

/* Returns the beginning of the first word, such as "thread:", that is about something else than
 * functions and what is known of a call; NULL: there is none. */
const char *dt_filter_beyond_calls(const struct dt_filter *f);

/* Returns the beginning of the first word that means something else where the calls of some
 * functions are not there, though those of the functions that it names are: "depth", "caller:";
 * NULL: there is none. */
const char *dt_filter_beyond_missing(const struct dt_filter *f);
/* Returns whether it names functions, or their source files; and whether a function is one of them,
 * or of those of `in:' and `-in:'. */
bool dt_filter_names(const struct dt_filter *f);
bool dt_filter_is_named(struct dt_filter *f, uint32_t function);

/* The same of what can not be chosen by while recording: events, values. */
const char *dt_filter_beyond_recording(const struct dt_filter *f);

/* Forgets the answer about a thread, whose names have become known or others. */
void dt_filter_forget(struct dt_filter *f, uint32_t tid);

/* Returns whether the filter wants to know how deep calls are. */
bool dt_filter_looks_at_depth(const struct dt_filter *f);
/* Returns whether the filter wants to know how calls end. */
bool dt_filter_looks_at_end(const struct dt_filter *f);
/* Returns the ticks after which a call is wanted whatever its end will be; 0: that depends on its
 * end. */
double dt_filter_least(const struct dt_filter *f);

/* Returns whether a call that has ended is wanted, by its result and length only. */
bool dt_filter_end(struct dt_filter *f, const struct dt_call *c);
/* The same without conditions on texts, of a call that took a known time in ticks. result: the four
 * values of the exit */
bool dt_filter_result(struct dt_filter *f, uint32_t function, const uint64_t *result,
		      uint64_t ticks);
/* Returns whether something other than a call is wanted, by its length in ticks. */
bool dt_filter_time(const struct dt_filter *f, uint64_t ticks);
/* Return whether an event or message is wanted, by its body; and a point, by its function and first
 * value. */
bool dt_filter_event(struct dt_filter *f, uint8_t kind, uint64_t body);
bool dt_filter_point(struct dt_filter *f, uint32_t function, uint64_t value);

#endif
