/* SPDX-License-Identifier: MIT */
/* Finding evidence that contradicts the rest, until the rest does not. */
#ifndef DT_ALIGN_CONTRADICT_H
#define DT_ALIGN_CONTRADICT_H

#include "align/net.h"
#include "core/error.h"

#define DT_CASE_MOST 256 /* contradictions; more than that is not evidence */

/* What is aligned, and what has been found so far. */
struct dt_case {
	const struct dt_align_clock *clock;
	const struct dt_evidence *evidence;
	uint32_t clocks, reference;
	size_t n;
	double rate;
	bool *believed; /* of each piece of evidence */
	bool *use;	/* believed, and not implied by others */
	struct dt_cut *cut;
	size_t cuts;
	struct dt_contradiction *contradiction;
	size_t contradictions;
};

/* Sets c->use, finds contradictions, stops believing what they are of or adds cuts, until there is
 * none. Returns the net of what is left; NULL: *e says why. */
struct dt_net *dt_case_settle(struct dt_case *c, struct dt_error *e);

#endif
