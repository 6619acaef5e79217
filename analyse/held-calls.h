/* SPDX-License-Identifier: MIT */
/* Open calls, with what records behind their entries say (filter/behind.h): while records are being
 * paired, for those who want to know it at a call's end. */
#ifndef DT_ANALYSE_HELD_CALLS_H
#define DT_ANALYSE_HELD_CALLS_H

#include "analyse/pair.h"
#include "filter/behind.h"

struct dt_held_call {
	struct dt_held_call *next; /* in its slot */
	uint64_t id;		   /* dt_call.id */
	unsigned core;		   /* of its beginning */
	struct dt_behind *behind;
};

#define DT_HELD_SLOTS 4096u /* a power of two */

/* All zero at first. */
struct dt_held_calls {
	struct dt_held_call *slot[DT_HELD_SLOTS];
	uint32_t behinds; /* of all of them */
	bool no_memory;
};

/* Adds an open call. NULL: out of memory. */
struct dt_held_call *dt_held_call_add(struct dt_held_calls *h, uint64_t id);
/* Returns an open call that was added; NULL: it was not. */
struct dt_held_call *dt_held_call_find(struct dt_held_calls *h, uint64_t id);
void dt_held_call_drop(struct dt_held_calls *h, uint64_t id);

/* For dt_pair_events.other: takes record i of the span if it says something of the innermost open
 * call. */
void dt_held_calls_take(struct dt_held_calls *h, struct dt_pair *p, const struct dt_site *site,
			const struct dt_span *s, uint32_t i);
void dt_held_calls_free(struct dt_held_calls *h);

#endif
