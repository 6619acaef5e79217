/* SPDX-License-Identifier: MIT */
/*
 * Which calls a filter (analyse/filter.h) wants, for commands that pair a trace's calls. What is
 * known at a call's beginning is kept in a bit of its note; the rest is known at its end.
 */
#ifndef DT_ANALYSE_CHOSEN_H
#define DT_ANALYSE_CHOSEN_H

#include "analyse/filter.h"

/* The bit of a call's note; the others are the user's. */
#define DT_CHOSEN 0x80000000u

/* To be called when a call begins, on the core of its entry: sets or clears the bit. */
void dt_chosen_begin(struct dt_filter *f, const struct dt_call *c, uint16_t core);

/* Returns whether a call that ends is wanted. core: of its end, used where its beginning was not
 * recorded. */
bool dt_chosen_end(struct dt_filter *f, const struct dt_call *c, uint16_t core);

/* A set of calls, by their numbers (dt_call.id). */
struct dt_chosen_calls {
	uint64_t *bits;
	uint64_t n; /* numbers are below */
};

/*
 * Reads a range and finds the calls that the filter wants. The same calls have the same numbers
 * whenever the same range is paired in the same order, of the same threads: wanted is as in struct
 * dt_graph. Returns -1 on error. The caller frees the set in any case.
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
