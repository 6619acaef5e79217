/* SPDX-License-Identifier: MIT */
/* Which calls of a trace have failed, and why. Each function's signature is read once. */
#ifndef DT_FILTER_FAILURES_H
#define DT_FILTER_FAILURES_H

#include "core/types.h"
#include "filter/meanings.h"

struct dt_failing;

/* Set `meanings', all else zero; then dt_failures_free(). */
struct dt_failures {
	struct dt_meanings meanings;
	struct dt_failing *function; /* by function row */
	uint32_t functions;
	bool no_memory; /* the answers since are not to be trusted */
};

/* What is known of a call. */
enum dt_outcome {
	DT_OUTCOME_UNKNOWN, /* it has no result, or its function does not say when it fails */
	DT_OUTCOME_GOOD,
	DT_OUTCOME_FAILED
};

/* Says whether a call with this result failed; result NULL: it has none. *error is the number of
 * the error, such as 2 for ENOENT; 0: not known. */
enum dt_outcome dt_failures_outcome(struct dt_failures *f, uint32_t function,
				    const uint64_t *result, uint32_t *error);

void dt_failures_free(struct dt_failures *f);

#endif
