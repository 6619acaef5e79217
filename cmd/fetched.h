/* SPDX-License-Identifier: MIT */
/* A trace that is elsewhere, fetched to be looked at and not to be kept. */
#ifndef DT_CMD_FETCHED_H
#define DT_CMD_FETCHED_H

#include <stddef.h>

#include "cmd/temporary.h"

#define DT_FETCHED_WORDS 12

struct dt_fetched {
	const char *word[DT_FETCHED_WORDS]; /* options of fetch, and behind "--" the address, the
					       file */
	size_t words;
	struct dt_temporary trace;
};

/*
 * Fetches it as `devtrace fetch WORD...` does. Returns the status of that, which has said what was
 * wrong. SIGINT and SIGTERM are blocked from here on: the trace must be removed in any case.
 */
int dt_fetched_get(struct dt_fetched *f);

#endif
