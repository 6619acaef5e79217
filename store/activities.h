/* SPDX-License-Identifier: MIT */
/*
 * Activities: times that a user has made of events, by `devtrace sql`; a table of the trace file
 * (doc/format.md). Times are ns from the first record.
 */
#ifndef DT_STORE_ACTIVITIES_H
#define DT_STORE_ACTIVITIES_H

#include "store/reader.h"

struct dt_activity {
	const char *name, *key, *text; /* "": none */
	int64_t begin, end;
	int64_t thread;	      /* -1: none */
	uint64_t count, busy; /* of several short ones together: how many, and ns that they took */
};

/* Which of them: by thread, core (-1: none) and length in ns. */
struct dt_activity_want {
	bool (*fn)(void *ctx, int64_t thread, int64_t core, int64_t length);
	void *ctx;
};

/*
 * Those that are wanted (NULL: all) and partly in [from, to], by name and begin: by themselves when
 * they take `cell' ns or more, else together with those of that name that begin in the same cell.
 * *more: there are others, of which there would be too many. -1: error; a file without any has
 * none.
 */
int dt_reader_activities(struct dt_reader *r, const struct dt_activity_want *want, int64_t from,
			 int64_t to, int64_t cell,
			 void (*fn)(void *ctx, const struct dt_activity *a), void *ctx, bool *more,
			 struct dt_error *e);

/* The names that there are, and how often. */
int dt_reader_activity_names(struct dt_reader *r,
			     void (*fn)(void *ctx, const char *name, uint64_t n), void *ctx,
			     struct dt_error *e);

#endif
