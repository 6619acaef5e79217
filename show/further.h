/* SPDX-License-Identifier: MIT */
/*
 * What the records behind entries say of the calls that are open: texts that arguments point to,
 * further arguments, what a call has filled in. It is kept by the number of the call, for those who
 * show a call when it ends.
 */
#ifndef DT_SHOW_FURTHER_H
#define DT_SHOW_FURTHER_H

#include "analyse/pair.h"
#include "show/event.h"
#include "show/format.h"
#include "show/full-arguments.h"

/* All zero: nothing is kept, and nothing is taken. */
struct dt_further {
	struct dt_reader *reader;
	struct dt_formats *formats;
	struct dt_pair *pair; /* of the pass whose records are taken */
	struct dt_fulls fulls;
	struct dt_texts texts; /* that have begun */
	bool ending;	       /* all records have been taken, */
	bool over;	       /* and what had begun has been put where it belongs */
};

/* Looks whether a site's records say something of a call, and whether a trace has such sites. */
bool dt_further_is(const struct dt_site *site);
bool dt_further_any(const struct dt_reader *r);

/* Begins: x must stay where it is. What the arguments belong to is freed by the caller, later. */
void dt_further_begin(struct dt_further *x, struct dt_reader *reader, struct dt_formats *formats,
		      struct dt_pair *pair);
/* Takes record i of a span, if it is such a one: to be called in the `other' of the pairing. */
void dt_further_take(struct dt_further *x, const struct dt_span *s, uint32_t i);
/* All records have been taken; to be called before dt_pair_finish(). */
void dt_further_end(struct dt_further *x);
/* Returns whether something is missing for want of memory. */
bool dt_further_failed(const struct dt_further *x);
void dt_further_free(struct dt_further *x);

#endif
