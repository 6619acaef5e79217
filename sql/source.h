/* SPDX-License-Identifier: MIT */
/* The trace files that queries read: each is opened once for all tables of a connection. */
#ifndef DT_SQL_SOURCE_H
#define DT_SQL_SOURCE_H

#include "analyse/pyramid.h"
#include "show/format.h"

/* One pass over a trace, from some place on. */
struct dt_sql_pass {
	struct dt_sql_source *source;
	struct dt_reader *reader;
	struct dt_formats formats;
	struct dt_sql_pass *next; /* the next pass that is not in use */
};

/* A trace file that is open. */
struct dt_sql_source {
	char *path;
	struct dt_sql_source *next;
	struct dt_sql_pass *idle;   /* passes that are not in use */
	struct dt_pyramid *pyramid; /* the complete pyramid in the file, or NULL */
	struct dt_reader *reader;   /* the pyramid's */
	bool outdated;		    /* the pyramid is outdated, but a pass still uses it */
	unsigned passes;	    /* how many are in use */
	bool stale; /* another file is at the path: this is to be freed when no pass is in use */
	uint64_t records, first, last; /* records, and ticks of the first and last, when the file
					  was last looked at */
	uint64_t device, inode, size, seconds,
		nanoseconds; /* state of the file: if it differs, the file has changed */
};

struct dt_sql_sources {
	struct dt_sql_source *first;
};

/* Begins a pass over the trace at path, which is opened if need be. It is given back with
 * dt_sql_pass_end(). NULL on error. */
struct dt_sql_pass *dt_sql_pass_begin(struct dt_sql_sources *s, const char *path,
				      struct dt_error *e);
/* Begins another pass over the same trace. NULL on error. */
struct dt_sql_pass *dt_sql_pass_again(struct dt_sql_source *s, struct dt_error *e);
/* Gives a pass back; p may be NULL. */
void dt_sql_pass_end(struct dt_sql_sources *s, struct dt_sql_pass *p);

/* Closes all traces; no pass may be in use. */
void dt_sql_sources_free(struct dt_sql_sources *s);

/* Returns the pyramid of the trace; NULL: there is none. */
static inline const struct dt_pyramid *dt_sql_pyramid(const struct dt_sql_pass *p)
{
	return p->source->outdated ? NULL : p->source->pyramid;
}

/* Returns the time of a tick in ns from the first record. */
int64_t dt_sql_ns(const struct dt_sql_pass *p, uint64_t ticks);
/* Return a tick near a time: at and before the first tick, everything is before ns; at and after
 * the second, everything is after it. */
uint64_t dt_sql_ticks_before(const struct dt_sql_pass *p, double ns);
uint64_t dt_sql_ticks_after(const struct dt_sql_pass *p, double ns);

#endif
