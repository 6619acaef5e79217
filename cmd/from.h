/* SPDX-License-Identifier: MIT */
/* A trace that is elsewhere, fetched to be looked at and not to be kept. */
#ifndef DT_CMD_FROM_H
#define DT_CMD_FROM_H

#include <stddef.h>

#include "cmd/temporary.h"

#define DT_FROM_WORDS 12

struct dt_from {
	const char
		*word[DT_FROM_WORDS]; /* options of fetch, and behind "--" the address, the file */
	size_t words;
	struct dt_temporary trace;
};

/*
 * Fetches it as `devtrace fetch WORD...` does. Returns the status of that, which has said what was
 * wrong. SIGINT and SIGTERM are blocked from here on: the trace must be removed in any case.
 */
int dt_from_fetch(struct dt_from *f);

#endif
