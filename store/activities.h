/* SPDX-License-Identifier: MIT */
/*
 * Activities: stretches of time that a user has derived from events with `devtrace sql`. They are a
 * table of the trace file (doc/format.md). Times are ns from the first record.
 */
#ifndef DT_STORE_ACTIVITIES_H
#define DT_STORE_ACTIVITIES_H

#include "store/reader.h"

struct dt_activity {
	const char *name, *key, *text; /* "": there is none */
	int64_t begin, end;
	int64_t thread;	      /* tid; -1: none */
	uint64_t count, busy; /* several short ones together: how many, and ns that they took */
};

/* Which activities are wanted: fn says so for a thread, a core (-1: none) and a length in ns. */
struct dt_activity_want {
	bool (*fn)(void *ctx, int64_t thread, int64_t core, int64_t length);
	void *ctx;
};

/*
 * Calls fn for the activities that are wanted (NULL: all) and overlap [from, to], in the order of
 * name and begin. One that takes `cell' ns or more comes by itself; shorter ones of the same name
 * that begin in the same cell of `cell' ns come as one. Sets *more if there are too many, so that
 * some were left out. Returns -1 on error; a file without the table has no activities.
 */
int dt_reader_activities(struct dt_reader *r, const struct dt_activity_want *want, int64_t from,
			 int64_t to, int64_t cell,
			 void (*fn)(void *ctx, const struct dt_activity *a), void *ctx, bool *more,
			 struct dt_error *e);

/* Calls fn for each name of an activity, with the number of activities that have it. Returns -1 on
 * error. */
int dt_reader_activity_names(struct dt_reader *r,
			     void (*fn)(void *ctx, const char *name, uint64_t n), void *ctx,
			     struct dt_error *e);

#endif
