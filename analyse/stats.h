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
	uint64_t calls; /* made, by their entries; the others below but no_entry are parts of it */
	uint64_t timed; /* begin and end are known: what the times are from */
	uint64_t unwound;  /* ended without an exit */
	uint64_t tail;	   /* ended in a tail call */
	uint64_t open;	   /* not ended in the trace */
	uint64_t no_exit;  /* their exits are not recorded */
	uint64_t no_entry; /* exits without an entry */
	uint64_t loss;	   /* records were lost meanwhile */
	uint64_t paused;   /* recording was paused meanwhile */
	uint64_t backward; /* they seem to end before they begin */
	uint64_t total; /* recursive calls count once; of a call whose time is not known, those in
			   it */
	uint64_t self;
	uint64_t sum; /* of all timed calls, for the average */
	uint64_t min, max;
	uint32_t *bucket; /* DT_BUCKETS; NULL: no timed call */
};

struct dt_stats {
	struct dt_function_stats *function; /* index: function id; those without calls too */
	uint32_t functions;
	bool no_memory;
};

/* Adds a call: for dt_pair_events.end, with a struct dt_stats as ctx. */
void dt_stats_call(void *ctx, const struct dt_call *c);

/* The duration that a share of the timed calls (0.5: the median) does not exceed. */
uint64_t dt_stats_quantile(const struct dt_function_stats *f, double share);

/* As bytes, appended to b, of those functions that have calls; and all of them forgotten. -1: out
 * of memory. */
int dt_stats_save(const struct dt_stats *s, struct dt_bytes *b);
void dt_stats_reset(struct dt_stats *s);
/* Adds what dt_stats_save() made, of a trace with so many functions. -1: it is damaged, or out of
 * memory. */
int dt_stats_add(struct dt_stats *s, const uint8_t *bytes, size_t n, uint32_t functions);

void dt_stats_free(struct dt_stats *s);

#endif
