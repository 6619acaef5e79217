/* SPDX-License-Identifier: MIT */
/*
 * What the calls of each function took. Times are ticks. The distribution is kept in buckets of
 * 1/16 of a power of two, so a quantile is off by at most 1/32 (3.2 %).
 */
#ifndef DT_ANALYSE_STATS_H
#define DT_ANALYSE_STATS_H

#include "analyse/pair.h"
#include "store/chunk.h"

#define DT_BUCKETS (16 + 60 * 16)

struct dt_function_stats {
	uint32_t function;
	uint64_t calls;	  /* calls made: entries; the following, except no_entry, are parts of it */
	uint64_t timed;	  /* calls whose begin and end are known: the times are from these */
	uint64_t unwound; /* calls that ended without an exit */
	uint64_t tail;	  /* calls that ended in a tail call */
	uint64_t open;	  /* calls that had not ended at the end of the trace */
	uint64_t no_exit; /* calls whose exits are not recorded */
	uint64_t no_entry; /* exits without an entry */
	uint64_t loss;	   /* calls during which records were lost */
	uint64_t paused;   /* calls during which recording was paused */
	uint64_t backward; /* calls that seem to end before they begin */
	uint64_t total;	   /* recursive calls count once; a call whose time is not known counts with
			      that of the recursive calls in it */
	uint64_t self;
	uint64_t sum; /* of all timed calls, for the average */
	/* of the squares of their durations, for the deviation; what dt_stats_save() keeps has it
	 * not */
	unsigned __int128 squares;
	/* what of `total', of `self' was waiting, and of the former preempted: see struct dt_call
	 */
	uint64_t waited, waited_self, preempted;
	uint64_t min, max;
	uint32_t *bucket; /* DT_BUCKETS counts; NULL: there is no timed call */
};

struct dt_stats {
	struct dt_function_stats *function; /* by function row; those without calls, too */
	uint32_t functions;
	bool no_memory;
};

/* Adds a call: this is for dt_pair_events.end, with a struct dt_stats as ctx. */
void dt_stats_call(void *ctx, const struct dt_call *c);

/* Returns the bucket of a duration, and the lowest duration of a bucket. */
unsigned dt_stats_bucket(uint64_t v);
uint64_t dt_stats_lowest(unsigned bucket);

/* Returns the duration that a share of the timed calls (0.5: the median) does not exceed. */
uint64_t dt_stats_quantile(const struct dt_function_stats *f, double share);

/*
 * Returns the sum of the squares of what the timed calls differ by from their mean, in ticks, exact
 * but for the last rounding; and the standard deviation of these calls (divided by their number).
 * Both are 0 if there are none.
 */
double dt_stats_squares(const struct dt_function_stats *f);
double dt_stats_deviation(const struct dt_function_stats *f);

/* What functions can be sorted by. */
enum dt_stats_key {
	DT_STATS_TOTAL,
	DT_STATS_SELF,
	DT_STATS_CALLS,
	DT_STATS_AVG,	 /* the mean of the timed calls, rounded */
	DT_STATS_STDDEV, /* rounded */
	DT_STATS_MIN,
	DT_STATS_P50,
	DT_STATS_P90,
	DT_STATS_P95,
	DT_STATS_P99,
	DT_STATS_P999, /* 99.9 % do not exceed it */
	DT_STATS_MAX,
	DT_STATS_UNWOUND,
	DT_STATS_TAIL,
	DT_STATS_NAME,
	/* from here on: what only traces with context switches know */
	DT_STATS_CPU, /* for how long a processor worked on the calls: total without waits */
	DT_STATS_WAIT,
	DT_STATS_SELFWAIT,
	DT_STATS_KEYS
};

/* Returns what the key stands for: ticks or a number; 0 for DT_STATS_NAME, and for times of which
 * none is known. */
uint64_t dt_stats_value(const struct dt_function_stats *f, enum dt_stats_key key);

/* A row of a table of functions. The stats and the name belong to others. */
struct dt_stats_row {
	const struct dt_function_stats *s;
	const char *name;
	uint64_t key; /* what the table is sorted by, from dt_stats_value() */
};

/* Compares two struct dt_stats_row, for qsort(): the greatest key first, equal ones by name. */
int dt_stats_row_compare(const void *a, const void *b);

/* dt_stats_save() appends those functions that have calls to b, as bytes, and returns -1 when out
 * of memory. dt_stats_reset() forgets all calls. */
int dt_stats_save(const struct dt_stats *s, struct dt_bytes *b);
void dt_stats_reset(struct dt_stats *s);
/* Adds what dt_stats_save() made of a trace with so many functions. Returns -1 if it is damaged, or
 * memory is out. */
int dt_stats_add(struct dt_stats *s, const uint8_t *bytes, size_t n, uint32_t functions);

/* Adds the calls of `from', in the same ticks and rows. Returns -1 when out of memory. */
int dt_stats_merge(struct dt_stats *s, const struct dt_stats *from);
/* Takes back time that has been counted of calls that turn out to be recursive. */
void dt_stats_recursive(void *ctx, uint32_t function, uint64_t ticks);

void dt_stats_free(struct dt_stats *s);

#endif
