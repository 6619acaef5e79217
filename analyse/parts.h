/* SPDX-License-Identifier: MIT */
/*
 * Pairing a trace on several cores, for whoever only sums up calls: the trace is cut into parts,
 * each thread reads and pairs a whole part (pair.h), and the parts are joined in order. The sums
 * are those of one pass. A part that cannot be joined, because of what is not known in the middle
 * of a trace, is paired again after what was before it.
 */
#ifndef DT_ANALYSE_PARTS_H
#define DT_ANALYSE_PARTS_H

#include "analyse/pair.h"

struct dt_parts {
	struct dt_reader *reader;
	unsigned threads;
	uint64_t length; /* records that a part has at least, but for the last one */
	/* Gets what is not in the sums of a part. Only `end' and `other' may be set; they get no
	 * values. */
	struct dt_pair_events events;
	/* Makes the sums of a part, whose records are read by r; NULL: out of memory. ctx, here and
	 * below: that of the events. */
	void *(*new)(void *ctx, struct dt_reader *r);
	/* As in struct dt_pair_events, for the sums of a part. They are called side by side, and
	 * may ask nothing of the pairing. */
	void (*end)(void *sums, const struct dt_call *c);
	void (*other)(void *sums, const struct dt_span *s, uint32_t i, uint32_t depth);
	/* Gets each span before its records are paired, with the sums of its part or, if it is in
	 * none, with ctx; -1: out of memory. NULL: nobody does. */
	int (*span)(void *sums, const struct dt_span *s);
	/* Takes back time that was counted of calls which were not said to be recursive, and are.
	 */
	void (*recursive)(void *sums, uint32_t function, uint64_t ticks);
	void (*add)(void *ctx, void *sums); /* adds sums to all */
	void (*free)(void *sums);
	/* Something else that is to be done beside, by the thread that has called dt_parts_run(),
	 * which takes parts after it. NULL: nothing. */
	void (*beside)(void *ctx);
	/* whoever of the above asks the pairing in events that get ctx, and only these, asks this
	 * one */
	struct dt_pair *pair;
	/* results */
	uint64_t records, impossible;
	unsigned parts, again; /* how many there were, and how many had to be paired again */
};

/* Returns how many of so many threads may pair the records of a trace in parts: as many as do not
 * take too much memory; 1: it cannot be done in parts. */
unsigned dt_parts_threads(struct dt_reader *r, unsigned threads);

/* Returns a length of parts that gives so many threads enough to do, of a trace of so many records.
 */
uint64_t dt_parts_length(unsigned threads, uint64_t records);

/* Pairs all of a trace. -1: an error. */
int dt_parts_run(struct dt_parts *k, struct dt_error *e);

#endif
