/* SPDX-License-Identifier: MIT */
/*
 * The calls of one function over a whole trace: how long they took, one that took as long as half
 * of them, and what a call did inside. The distribution is the sum of what the pyramid keeps of
 * each region; only regions in which a call is looked for are read again.
 */
#ifndef DT_ANALYSE_SIBLINGS_H
#define DT_ANALYSE_SIBLINGS_H

#include "analyse/same.h"
#include "analyse/window.h"

struct dt_siblings {
	const uint32_t *first; /* of struct dt_same: which rows are one function */
	uint32_t rows, function;
	uint64_t calls, timed, sum, min, max;
	uint64_t bucket[DT_BUCKETS]; /* as in struct dt_function_stats */
	bool partly;		     /* the pyramid lacks the end of the trace so far */
};

/* Fills in all but the first three. Returns -1 on error. */
int dt_siblings_count(struct dt_siblings *s, const struct dt_pyramid *p, struct dt_error *e);

/*
 * Finds the median call: of an even number, the lower of the two in the middle; of several that
 * took as long, any. It may read regions for so many seconds, but at least a million records: if
 * that is not enough, *exact is false, and the call is one of the median's bucket (3.2 %). 1:
 * found; 0: there is none; -1: error.
 */
int dt_siblings_median(const struct dt_siblings *s, const struct dt_pyramid *p,
		       struct dt_windows *w, double seconds, struct dt_call *c, bool *exact,
		       struct dt_error *e);

/*
 * Counts the calls of the bucket of `ticks' that took less, and as long; reading is limited as for
 * the median. *exact is false if not all of the bucket's were found. Returns -1 on error.
 */
int dt_siblings_rank(const struct dt_siblings *s, const struct dt_pyramid *p, struct dt_windows *w,
		     uint64_t ticks, double seconds, uint64_t *less, uint64_t *equal, bool *exact,
		     struct dt_error *e);

#define DT_INSIDE_BY 128 /* bytes for who ended a wait: longer words are cut */

/* Waits of one function, in a call, for one thing. */
struct dt_inside_wait {
	uint32_t function; /* the innermost call's */
	const char *what;  /* of dt_wait_reason(); valid until the windows are used again */
	uint64_t times, ticks;
	uint64_t longest, at; /* ticks of the longest, and when that began */
	/* who ended that one, dt_waker_put(), "": not known, and how many ticks later it ran */
	char by[DT_INSIDE_BY];
	uint64_t queued;
};

#define DT_INSIDE_WAITS 200 /* kinds of waits that are told apart at most */

/* What a call did in calls that it made itself, of one function. */
struct dt_inside_row {
	uint32_t function;
	uint64_t calls, ticks, waited;
};

struct dt_inside {
	uint32_t thread, depth; /* which call it is */
	uint64_t begin, end;
	bool found;
	struct dt_call call;
	struct dt_inside_row *row; /* by function, in the order in which they came */
	size_t n, room;
	struct dt_inside_wait *wait; /* by function and what for, in the order in which they came */
	size_t waits;
	uint64_t more_waits; /* of further kinds */
	uint32_t *slot;	     /* by function row: index in row plus one */
	bool no_memory;
	struct dt_reader *reader; /* of the windows */
	const uint32_t *first;
	uint32_t rows;
};

/* Sums up the calls in the call of which the first four fields tell. Returns -1 on error. */
int dt_inside_sum(struct dt_inside *x, struct dt_windows *w, const struct dt_same *same,
		  struct dt_error *e);
void dt_inside_free(struct dt_inside *x);

#endif
