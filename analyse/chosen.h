/* SPDX-License-Identifier: MIT */
/*
 * Which calls a filter (filter/filter.h) wants, for commands that pair a trace's calls. What is
 * known at a call's beginning is kept in a bit of its note; the rest is known at its end.
 */
#ifndef DT_ANALYSE_CHOSEN_H
#define DT_ANALYSE_CHOSEN_H

#include "analyse/pair.h"
#include "filter/filter.h"

/* The bit of a call's note, and with it those of the calls around it (DT_AROUND_*); the others are
 * the user's. */
#define DT_CHOSEN	0x80000000u
#define DT_CHOSEN_SHIFT 28 /* of DT_AROUND_* */
#define DT_CHOSEN_BITS	(DT_CHOSEN | DT_AROUND_ALL << DT_CHOSEN_SHIFT)

/* A filter, and where the records that are being paired come from. */
struct dt_choosing {
	struct dt_filter *filter;
	const struct dt_reader *reader;
	const struct dt_span *span; /* that is being read; NULL: none, at the end of the trace */
	const struct dt_pair *pair; /* that is handling it */
};

/* To be called when a call begins: sets the bits. */
void dt_chosen_begin(const struct dt_choosing *choice, const struct dt_call *c);

/* Returns whether a call that ends is wanted. If its entry was not recorded, the core is that of
 * its end. */
bool dt_chosen_end(const struct dt_choosing *choice, const struct dt_call *c);

/* Reads a range as dt_pair_run() does, and keeps the choice's span and pair up to date; filter
 * NULL: all calls are wanted. The range has to have values if the filter needs them. Returns -1 on
 * error.
 */
int dt_chosen_run(struct dt_choosing *choice, struct dt_reader *r,
		  const struct dt_reader_range *range, const struct dt_pair_events *events,
		  struct dt_error *e);

/* A set of calls, by their numbers (dt_call.id). */
struct dt_chosen_calls {
	uint64_t *bits;
	uint64_t n; /* numbers are below */
};

/*
 * Reads a range and finds the calls that the filter wants. The same calls have the same numbers
 * whenever the same range is paired in the same order, of the same threads: wanted is as in struct
 * dt_graph. Calls without an entry have no number, and are not in the set. Returns -1 on error. The
 * caller frees the set in any case.
 */
int dt_chosen_read(struct dt_chosen_calls *k, struct dt_filter *f, struct dt_reader *r,
		   const struct dt_reader_range *range, bool (*wanted)(void *ctx, uint32_t tid),
		   void *ctx, struct dt_error *e);
void dt_chosen_free(struct dt_chosen_calls *k);

static inline bool dt_chosen_has(const struct dt_chosen_calls *k, uint64_t id)
{
	return id < k->n && k->bits[id / 64] >> id % 64 & 1;
}

#endif
