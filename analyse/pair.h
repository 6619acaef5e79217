/* SPDX-License-Identifier: MIT */
/*
 * Pairing entries with exits into calls. A call is an entry and the exit of the same thread,
 * function and stack pointer. A call that ends without an exit is closed and marked, as is anything
 * else that is not known: no part of a call tree is guessed.
 *
 * Records are taken one after another: memory is bounded by the stacks of the threads.
 */
#ifndef DT_ANALYSE_PAIR_H
#define DT_ANALYSE_PAIR_H

#include "filter/call.h"
#include "store/reader.h"
#include "store/wakers.h"

/* What records of the kernel tell of a wait (record --wakers). */
struct dt_wait_ended {
	const struct dt_waker *waker; /* who ended it; NULL: not known. Valid in the event */
	uint64_t queued;	      /* ticks from then until the thread ran */
	int64_t stack;	 /* of the kernel, where it waited: number in table stack; 0: not known */
	uint32_t number; /* of the waker, as dt_pair_waker() knows; 0: not known */
	uint64_t left;	 /* ticks when it left its core: before `begin' if the tracer held it, or
			    switches are missing */
};

struct dt_pair_events {
	/* A call began. Its end, children, exit and result are not known yet. May be NULL. */
	void (*begin)(void *ctx, const struct dt_call *c);
	/* A call ended; a callee always before its caller. */
	void (*end)(void *ctx, const struct dt_call *c);
	/* Records of this thread are missing before what comes next; DT_NO_TID: at the end of a
	 * core. May be NULL. */
	void (*loss)(void *ctx, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end);
	/* A record that is neither an entry nor an exit. May be NULL. */
	void (*other)(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth);
	/* A thread is on a processor again, after it was on none between two times. The innermost
	 * of its open calls, as in dt_pair_callers(); NULL: none is known. what: what it
	 * waited for; "": that was not seen. May be NULL. */
	void (*wait)(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		     bool preempted, const char *what, const struct dt_wait_ended *ended);
	void *ctx;
	/*
	 * Ticks that recording costs, for each of the 256 kinds of records: they are taken out of
	 * all times, as if the thread's clock stood still meanwhile. NULL: times are as recorded.
	 */
	const double *cost;
};

struct dt_pair;

/* Makes a pairing of the records of r. values: calls get their values, if the spans have them.
 * NULL: out of memory. */
struct dt_pair *dt_pair_new(struct dt_reader *r, const struct dt_pair_events *events, bool values);

/*
 * Of functions that are recorded only where a module calls them (-l), calls that one of them makes
 * of another by a jump are not the module's, although they return to it: pairing makes them a part
 * of the call that has jumped (DT_CALL_FOLDS), and passes nothing on of them. This has all calls
 * passed on, as they were recorded; parts of a trace need it. Must come before the first span.
 */
void dt_pair_unfold(struct dt_pair *p);
/* Returns how many calls have been made a part of others so far. */
uint64_t dt_pair_folded(const struct dt_pair *p);
/* Returns whether the trace has functions whose calls may be folded. */
bool dt_pair_may_fold(const struct dt_reader *r);

/* Takes the next span of the reader, and calls the events. Returns -1 when out of memory. */
int dt_pair_span(struct dt_pair *p, const struct dt_span *s);

/*
 * In an event about a call, calls fn for the open calls around it, from the innermost outwards,
 * until fn returns false. Their end, exit, children and result are not set. The pointers are valid
 * until the event is over.
 */
void dt_pair_callers(struct dt_pair *p, bool (*fn)(void *ctx, const struct dt_call *c), void *ctx);

/* Makes dt_pair_callers() and the two below work as in an event about a call that this thread might
 * begin now. */
void dt_pair_look(struct dt_pair *p, uint32_t tid);

/* In an event about a call, returns the note (two words) of the innermost open call around it;
 * NULL: there is none. */
const uint32_t *dt_pair_caller_note(const struct dt_pair *p);

/* In an event about a call, returns whether it is the outermost known on its stack. A thread may
 * have several stacks. */
bool dt_pair_is_first(const struct dt_pair *p);

/* Returns how many records of calls so far were earlier than one before them in their thread. In
 * the middle of a span, only those are counted that make a call end before it begins. */
uint64_t dt_pair_impossible(const struct dt_pair *p);

/*
 * Looks whether a pass over all of a trace has met something that makes it not worth drawing: -1
 * and the reason in *e; 0: nothing. records: how many the pass met, total: how many the file has.
 */
int dt_pair_sound(struct dt_reader *r, uint64_t records, uint64_t total, uint64_t impossible,
		  struct dt_error *e);

/*
 * Takes from the span of a thread that is not wanted what the others need of it. A switch tells
 * that a thread has left the core: the span is cut to it, to be passed to dt_pair_span(). False:
 * there is none, so that it need not be passed; where switches were lost, the thread has been noted
 * as the one that runs on the core.
 */
bool dt_pair_unwanted(struct dt_pair *p, struct dt_span *s);

/* Closes every call that is still open, as DT_CALL_OPEN. Returns 0. */
int dt_pair_finish(struct dt_pair *p);
void dt_pair_free(struct dt_pair *p);

/* Pairs a range of the trace: starts the reader, takes every span, and finishes. Returns -1 on
 * error. */
int dt_pair_run(struct dt_reader *r, const struct dt_reader_range *range,
		const struct dt_pair_events *events, struct dt_error *e);

/* Returns what was waited for, by its number; "": that was not seen. */
const char *dt_pair_waited_for(struct dt_pair *p, uint32_t number);
/* Calls fn for every thread that is on no processor after the last span, and since when, in no
 * order. */
void dt_pair_each_waiting(struct dt_pair *p,
			  void (*fn)(void *ctx, uint32_t tid, uint64_t left, bool preempted),
			  void *ctx);
/* Says which thread runs on a core, where no switch has told: for a pass that does not begin at the
 * trace's beginning. */
void dt_pair_seat(struct dt_pair *p, uint16_t core, uint32_t tid);
/* Returns who ended a wait (dt_call.woken); NULL: not known. Valid until more records are taken. */
const struct dt_waker *dt_pair_waker(struct dt_pair *p, uint32_t number);

/*
 * Calls fn for every open call of every thread, in no order. now: ticks, not before the last
 * record. took: how long it has been open, without what the tracer held the thread; children: how
 * much of that was in calls made from it; inner: as in struct dt_call, of calls that are over;
 * core: of a call in an interrupt, without a thread.
 */
void dt_pair_each_open(struct dt_pair *p, uint64_t now,
		       void (*fn)(void *ctx, const struct dt_call *c, unsigned core, uint64_t took,
				  uint64_t children, uint64_t inner),
		       void *ctx);

/* Returns whether a function, the first of its rows, was off because of the budget at some time
 * from one tick to another. */
bool dt_pair_was_off(const struct dt_pair *p, uint32_t function, uint64_t from, uint64_t to);
/* Returns whether records of some core are missing between two ticks: a thread may have been there,
 * and nothing of that be left. */
bool dt_pair_was_lost(const struct dt_pair *p, uint64_t from, uint64_t to);

/* ---- parts of a trace ---- */

/*
 * Pairing a part of a trace without what was before it, for several parts side by side. Of each
 * thread it is not known which calls are open when the part begins: they are outside. What the
 * records of the part say about these calls is noted, to be checked against them, and added to
 * them, by whoever has paired all that was before (pair-join.c): the result is that of one pass.
 *
 * Calls that begin and end within the part have all that belongs to them, except that they may be
 * recursive: within a call of the same function outside.
 */

struct dt_thread_stack;

/* A part that has been paired: what is left to be put together with what was before. */
struct dt_part {
	struct dt_thread_stack **thread; /* those that have records in it */
	size_t threads;
	uint64_t impossible; /* as dt_pair_impossible() */
	bool spoiled;	     /* it has to be paired again, after what was before */
};

/* Takes the next span of a part, like dt_pair_span(). -1: out of memory. */
int dt_part_span(struct dt_pair *p, const struct dt_span *s);
/* Returns whether the part that is being paired is spoiled already. */
bool dt_part_is_spoiled(const struct dt_pair *p);
/* Ends a part: gives what is left of it, which dt_part_free() frees, and makes the pairing ready
 * for another part. -1: out of memory. */
int dt_part_finish(struct dt_pair *p, struct dt_part *part);
void dt_part_free(struct dt_part *part);

/*
 * Joins a part with a pairing of all that was before it. Returns 1: it is done; 0: the part does
 * not go with what was before, nothing has been changed, and it has to be paired again; -1: out of
 * memory. recursive: is called for times of calls within the part that are within calls of the same
 * function outside, although they were not said to be recursive.
 */
int dt_part_join(struct dt_pair *p, struct dt_part *part,
		 void (*recursive)(void *ctx, uint32_t function, uint64_t ticks), void *ctx);

#endif
