/* SPDX-License-Identifier: MIT */
/* A check in the middle of it: for check.c and check-sides.c only. */
#ifndef DT_ANALYSE_CHECK_WORK_H
#define DT_ANALYSE_CHECK_WORK_H

#include "analyse/check.h"
#include "analyse/parts.h"
#include "analyse/same.h"

#define DT_CHECK_ENDED 64

/* What is known of a thread so far. */
struct seen {
	uint32_t tid; /* 0 in a free slot */
	bool used;
	uint64_t last;	 /* ticks of its last record */
	uint64_t jumped; /* sp of its call that ended last, if that ended by a jump; otherwise 0 */
	/* for stack pointers, the end of the last call that was there; the lowest sp comes last,
	 * and at a higher one the end was earlier */
	struct {
		uint64_t sp, at;
	} ended[DT_CHECK_ENDED];
	unsigned n;
};

/* The records of a function's sites, and the calls that were made of them. */
struct tally {
	uint64_t entries, exits; /* records; exits without those of tail jumps */
	uint64_t begun, left;	 /* calls that have an entry, and an exit */
	uint64_t ended;		 /* calls of other functions that its exits have ended: they jumped
				    to it */
	bool exits_only;	 /* no entries of it are recorded */
	uint64_t first;		 /* ticks of its first record; 0: none yet */
};

struct checking {
	struct dt_reader *r;
	struct dt_check *c;
	struct dt_pair *pair;
	struct dt_same same;
	struct tally *tally; /* by function */
	uint64_t *of_site;   /* records that the reader gave, by site */
	uint32_t sites, functions;
	struct seen *thread; /* open addressing */
	size_t threads, slots;
	struct seen *current;
	uint64_t end; /* ticks: end of the trace */
	uint64_t parent_begin;
	struct dt_times *pause; /* times in which nothing was recorded, or the choice of what is
				   recorded changed */
	size_t pauses;
	uint64_t others;
	const struct dt_check_how *how;
	/*
	 * The calls are read beside the chunks (check-sides.c): by these; in several parts, if
	 * `in_parts'. Then it is only known whether all is as it should be: `strange' says that it
	 * is not, or that more has to be looked at.
	 */
	struct dt_parts *parts;
	bool in_parts, strange;
	struct checking *chunks; /* what checks the chunks meanwhile... */
	int checked;		 /* ...has done so: 1; has failed: -1, and why */
	struct dt_error error;
	bool read; /* the calls have been read */
};

/* ---- check.c ---- */

/* Makes ready for reading the calls, by k->r into k->c. */
int dt_checking_prepare(struct checking *k, struct dt_error *e);
/* Take a span, with struct checking as ctx; -1: out of memory. And for struct dt_pair_events. */
int dt_checking_span(void *ctx, const struct dt_span *s);
void dt_checking_end(void *ctx, const struct dt_call *c);
void dt_checking_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth);
/* Returns what is known of a thread; NULL: out of memory. */
struct seen *dt_checking_thread(struct checking *k, uint32_t tid);
/* Checks the tables, and every chunk by itself. */
int dt_checking_chunks(struct checking *k, struct dt_error *e);
/* Forgets the calls that were read. */
void dt_checking_clear(struct checking *k);

/* ---- check-sides.c ---- */

/* Does dt_checking_chunks(), and reads the calls beside it, if that can be done: k->read. */
int dt_check_sides(struct checking *k, struct dt_error *e);

#endif
