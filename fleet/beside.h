/* SPDX-License-Identifier: MIT */
/*
 * Two traces beside each other as one: a new file with all that is in both, as two hosts, "A" and
 * "B", for what shows a single trace. B is drawn so that a time of it is at the same place as a
 * time of A: of the first record, a call, an event or a note. What differs in length from there on
 * is seen as it is. Functions that are the same in both are known (analyse/match.h), and where the
 * threads diverge first (analyse/diverge.h) is kept as notes.
 */
#ifndef DT_FLEET_BESIDE_H
#define DT_FLEET_BESIDE_H

#include "store/reader.h"

#define DT_BESIDE_NOTES 100 /* divergences that are kept, at most */

struct dt_beside {
	struct dt_reader *reader[2];
	uint64_t at[2];	   /* ticks that are brought to the same time */
	const char *words; /* what that is; "": the first records */
};

/*
 * Finds the first of what the words mean in a trace: "note:TEXT", the note with that text;
 * "event:PATTERN", an event; else calls, by the words of a filter (filter/filter.h); "": the first
 * record. Returns 1; 0: there is none; -1: the words are wrong, or the trace can not be read.
 */
int dt_beside_find(struct dt_reader *r, const char *words, uint64_t *ticks, struct dt_error *e);

/* Writes the new trace to path, where nothing is yet. -1: *e says why not. */
int dt_beside_write(const struct dt_beside *b, const char *path, struct dt_error *e);

#endif
