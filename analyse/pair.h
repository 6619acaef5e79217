/* SPDX-License-Identifier: MIT */
/*
 * Pairing entries with exits into calls. A call is an entry and the exit of the same thread,
 * function and stack pointer. What ends without an exit is closed and marked, and so is whatever
 * else is not known: a call tree is never guessed.
 *
 * Streaming: memory is bounded by the stacks of the threads.
 */
#ifndef DT_ANALYSE_PAIR_H
#define DT_ANALYSE_PAIR_H

#include "analyse/call.h"
#include "store/reader.h"

struct dt_pair_events {
	/* A call began. Its end, children, exit and result are not known yet. May be NULL. */
	void (*begin)(void *ctx, const struct dt_call *c);
	/* A call ended; callees always before their caller. */
	void (*end)(void *ctx, const struct dt_call *c);
	/* Records of this thread are missing before what comes next. May be NULL. */
	void (*loss)(void *ctx, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end);
	/* A record that is neither an entry nor an exit. May be NULL. */
	void (*other)(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth);
	void *ctx;
	/* Ticks that a record of each kind takes by itself, 256 of them: all times are without
	 * them, as if the thread's clock stood still meanwhile. NULL: times are as recorded. */
	const double *cost;
};

struct dt_pair;

/* values: calls are wanted with theirs, if spans come with them. NULL: out of memory. */
struct dt_pair *dt_pair_new(struct dt_reader *r, const struct dt_pair_events *events, bool values);

/* Takes the next span of the reader. -1: out of memory. */
int dt_pair_span(struct dt_pair *p, const struct dt_span *s);

/* In an event about a call: the open calls it is in, from the innermost outwards, until fn says
 * false. end, exit, children and result are not set. They stay where they are until the event is
 * over. */
void dt_pair_callers(struct dt_pair *p, bool (*fn)(void *ctx, const struct dt_call *c), void *ctx);

/* As if in an event about a call that this thread might begin now. */
void dt_pair_look(struct dt_pair *p, uint32_t tid);

/* In an event about a call: the innermost open call it is in; NULL: none. */
const uint32_t *dt_pair_caller_note(const struct dt_pair *p);

/* In an event about a call: is it the outermost known on its stack? A thread may have several. */
bool dt_pair_is_first(const struct dt_pair *p);

/* How many records of calls, so far, were earlier than one before them of their thread: of those in
 * the middle of a span only such that make a call end before it begins. */
uint64_t dt_pair_impossible(const struct dt_pair *p);

/* What makes a trace not worth drawing, from what a pass over all of it has met; 0: nothing, else
 * -1 and the reason. total: records in the file. */
int dt_pair_sound(struct dt_reader *r, uint64_t records, uint64_t total, uint64_t impossible,
		  struct dt_error *e);

/* Closes every call that is still open, as DT_CALL_OPEN. */
int dt_pair_finish(struct dt_pair *p);
void dt_pair_free(struct dt_pair *p);

/* Runs over a range of the trace: start, every span, finish. */
int dt_pair_run(struct dt_reader *r, const struct dt_reader_range *range,
		const struct dt_pair_events *events, struct dt_error *e);

#endif
