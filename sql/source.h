/* SPDX-License-Identifier: MIT */
/* The trace files that queries are of: opened once, for all tables of a connection. */
#ifndef DT_SQL_SOURCE_H
#define DT_SQL_SOURCE_H

#include "analyse/pyramid.h"
#include "show/format.h"

/* What reads the trace once, from some place on. */
struct dt_sql_pass {
	struct dt_sql_source *source;
	struct dt_reader *reader;
	struct dt_formats formats;
	struct dt_sql_pass *next; /* that is not in use either */
};

struct dt_sql_source {
	char *path;
	struct dt_sql_source *next;
	struct dt_sql_pass *idle;
	struct dt_pyramid *pyramid; /* a complete one that is in the file; or NULL */
	struct dt_reader *reader;   /* the pyramid's */
	bool outdated;		    /* the pyramid is, but somebody still uses it */
	unsigned passes;	    /* in use */
	bool stale; /* the file is another by now: to be freed when no pass is in use */
	uint64_t records, first, last; /* of the file, when it was looked at last; ticks */
	uint64_t device, inode, size, seconds,
		nanoseconds; /* of the file: when it differs, it has changed */
};

struct dt_sql_sources {
	struct dt_sql_source *first;
};

/* A pass over the trace at path, to be given back by dt_sql_pass_end(). */
struct dt_sql_pass *dt_sql_pass_begin(struct dt_sql_sources *s, const char *path,
				      struct dt_error *e);
/* Another one over the same trace. */
struct dt_sql_pass *dt_sql_pass_again(struct dt_sql_source *s, struct dt_error *e);
void dt_sql_pass_end(struct dt_sql_sources *s, struct dt_sql_pass *p);

void dt_sql_sources_free(struct dt_sql_sources *s);

static inline const struct dt_pyramid *dt_sql_pyramid(const struct dt_sql_pass *p)
{
	return p->source->outdated ? NULL : p->source->pyramid;
}

/* Nanoseconds from the first record. */
int64_t dt_sql_ns(const struct dt_sql_pass *p, uint64_t ticks);
/* A tick, at which, and before which, all records are before ns; or one where they are all after
 * it: near to it, not exactly there. */
uint64_t dt_sql_ticks_before(const struct dt_sql_pass *p, double ns);
uint64_t dt_sql_ticks_after(const struct dt_sql_pass *p, double ns);

#endif
