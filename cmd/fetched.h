/* SPDX-License-Identifier: MIT */
/* A trace from another host, fetched to be shown but not to be kept. */
#ifndef DT_CMD_FETCHED_H
#define DT_CMD_FETCHED_H

#include <stddef.h>

#include "cmd/temporary.h"

#define DT_FETCHED_WORDS 12

struct dt_fetched {
	const char *word[DT_FETCHED_WORDS]; /* fetch's options; then "--", the address, the file */
	size_t words;
	struct dt_temporary trace;
};

/*
 * Fetches the trace as `devtrace fetch WORD...` does, and returns the exit status of that command,
 * which has reported any error. SIGINT and SIGTERM stay blocked after this call, since the caller
 * must remove the trace in any case (dt_temporary_remove()).
 */
int dt_fetched_get(struct dt_fetched *f);

#endif
