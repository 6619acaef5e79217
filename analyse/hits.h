/* SPDX-License-Identifier: MIT */
/*
 * The calls of some functions that are looked for in a whole trace: how many there are, and one
 * after the other from any time on, forwards and backwards. What the pyramid keeps of each region
 * tells how many of them end there: only regions in which some do are read again.
 */
#ifndef DT_ANALYSE_HITS_H
#define DT_ANALYSE_HITS_H

#include "analyse/window.h"

struct dt_hits {
	/* set by the caller, who frees it: which functions are looked for, by function row */
	const bool *wanted;
	uint32_t functions; /* elements of wanted, and of calls */
	/* the rest is 0 at first; dt_hits_free() frees it */
	uint64_t *calls; /* by function row; those without an entry are in none of these numbers */
	uint64_t all;
	uint32_t *ending; /* by region: how many end there */
	size_t regions;	  /* elements of ending */
};

struct dt_hit {
	uint32_t track;
	struct dt_bar bar;
};

struct dt_hit_list {
	struct dt_hit *hit;
	size_t n, room;
};

/* Counts anew. Returns -1 on error. */
int dt_hits_count(struct dt_hits *h, struct dt_windows *w, struct dt_error *e);

/*
 * Puts at least n calls that begin at tick *at or later (back: or earlier) into list, replacing
 * what is in it, sorted by begin, then track, then depth (back: the last one first): fewer only if
 * there are no more, or more than so many seconds have passed. Calls that begin at one tick are not
 * torn apart. *at becomes where to go on. 1: there may be more; 0: there are no more; -1: error.
 * The pyramid must be the one that was counted.
 */
int dt_hits_find(struct dt_hits *h, struct dt_windows *w, uint64_t *at, bool back, size_t n,
		 double seconds, struct dt_hit_list *list, struct dt_error *e);
void dt_hits_free(struct dt_hits *h);

#endif
