/* SPDX-License-Identifier: MIT */
/*
 * Hits of tracepoints that have several records: the first one's signature has all fields, in their
 * order, those that are in its later records without a place. A hit is put together until all of
 * them have come.
 */
#ifndef DT_SHOW_WHOLE_HIT_H
#define DT_SHOW_WHOLE_HIT_H

#include "show/event.h"
#include "show/format.h"
#include "show/full-arguments.h"

#define DT_HIT_FIELDS 64 /* that numbers are kept of */

struct dt_whole_hit {
	struct dt_whole_hit *next;
	struct dt_record head; /* its first record */
	struct dt_site site;   /* its site */
	unsigned missing;      /* fields that have not come */
	struct dt_full full;   /* what has come in later records */
	struct dt_fulls fulls; /* the same while it is put together */
	unsigned numbers;
	/* what has come as numbers; the name is in a signature of the trace */
	struct dt_whole_hit_number {
		const char *name;
		size_t n;
		struct dt_format_number is;
	} number[DT_HIT_FIELDS];
};

/* Hits that have begun and not ended. Set formats, fn and ctx, all else zero. */
struct dt_whole_hits {
	struct dt_whole_hit *first;
	struct dt_formats *formats;
	/* Is called for each hit when it has ended, complete or not: what is missing was lost. The
	 * hit is fn's own then: dt_whole_hit_free(). */
	void (*fn)(void *ctx, struct dt_whole_hit *h);
	void *ctx;
	bool failed; /* out of memory: some hits are missing */
};

/* Takes a record if it begins a hit of several records, or has further values of one. False: the
 * caller has to deal with it. */
bool dt_whole_hits_take(struct dt_whole_hits *h, const struct dt_site *site,
			const struct dt_record *r);
/* The same for a text. */
bool dt_whole_hits_take_text(struct dt_whole_hits *h, const struct dt_text *t);
/* Ends the hits of a thread that have begun: records of it have been lost. */
void dt_whole_hits_end_of(struct dt_whole_hits *h, uint32_t tid);
/* Ends all hits that have begun, for the end of the trace. */
void dt_whole_hits_end(struct dt_whole_hits *h);

/* Returns the number of the field with that name, of n bytes, if it has come in a later record;
 * kind NONE: it is none. */
struct dt_format_number dt_whole_hit_number(const struct dt_whole_hit *h, const char *name,
					    size_t n);
void dt_whole_hit_free(struct dt_whole_hit *h);

#endif
