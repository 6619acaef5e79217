/* SPDX-License-Identifier: MIT */
/* Going over the records of a trace in the order of time, one by one. */
#ifndef DT_SQL_WALK_H
#define DT_SQL_WALK_H

#include "sql/table.h"

/* An interrupt's records may come among later ones. They are late by up to this many ticks; or by
 * more, which the reader knows when it has met it: dt_reader_back(). */
#define DT_SQL_DISORDER (1u << 18)

/*
 * Returns whether a record at `ticks' is so much later than `to' that none up to `to' can follow.
 */
static inline bool dt_sql_far_behind(const struct dt_reader *r, uint64_t ticks, uint64_t to)
{
	return ticks > to && ticks - to > DT_SQL_DISORDER && ticks - to > dt_reader_back(r);
}

/* A walk: where it is. */
struct dt_sql_walk {
	struct dt_reader *reader;
	struct dt_span span;
	uint32_t at; /* index in the span of the current record */
	bool begun;
};

/* Begins a walk. values: the values are wanted. from and to are as in struct dt_reader_range, but
 * `to' is UINT64_MAX for no limit. Returns -1 on error. */
int dt_sql_walk_begin(struct dt_sql_walk *w, struct dt_reader *r, uint64_t from, uint64_t to,
		      bool values, struct dt_error *e);
/* Moves to the next record. 1: there is one; 0: there is none; -1: error. */
int dt_sql_walk_next(struct dt_sql_walk *w, struct dt_error *e);

static inline const struct dt_site *dt_sql_walk_site(const struct dt_sql_walk *w)
{
	return dt_reader_site(w->reader, w->span.site[w->at]);
}

static inline uint16_t dt_sql_walk_core(const struct dt_sql_walk *w)
{
	return dt_span_core(&w->span, w->at);
}

#endif
