/* SPDX-License-Identifier: MIT */
/*
 * The times in which context switches of some core are missing, because the kernel had no room for
 * them: in these it is not known whether a thread ran or waited. Nobody knows where it was
 * meanwhile, so those of all cores count for each thread.
 */
#ifndef DT_STORE_LOST_SWITCHES_H
#define DT_STORE_LOST_SWITCHES_H

#include "store/reader.h"

struct dt_lost_switches {
	/* ticks; once in_order, they ascend and are apart, and before is how many ticks the
	 * earlier ones have together */
	struct dt_lost_time {
		uint64_t begin, end, before;
	} * time;
	size_t n, room;
	bool in_order;
	uint64_t rest; /* from here on, to the end; 0: there is none without an end */
};

/* Reads them from a trace. Returns 0, or -1: there is no memory, or the file can not be read. */
int dt_lost_switches_load(struct dt_lost_switches *l, struct dt_reader *r);
/* Adds the time from which on there are none any more, as the file says; for who adds the losses by
 * itself. -1: out of memory. */
int dt_lost_switches_end(struct dt_lost_switches *l, const struct dt_reader *r);
/* Adds a time; end 0: until the end. Returns 0, or -1 without memory. */
int dt_lost_switches_add(struct dt_lost_switches *l, uint64_t begin, uint64_t end);
void dt_lost_switches_free(struct dt_lost_switches *l);

/* Returns whether there are any. */
static inline bool dt_lost_switches_any(const struct dt_lost_switches *l)
{
	return l->n || l->rest;
}

/* Returns how many ticks between two others lie in such times. */
uint64_t dt_lost_switches_between(struct dt_lost_switches *l, uint64_t begin, uint64_t end);

#endif
