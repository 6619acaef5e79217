/* SPDX-License-Identifier: MIT */
/* How much of a unit test with many turns that are alike is run: a change waits for `make check`
 * (test/run.sh sets SHARE there), `make soak S=whole` runs all. */
#ifndef DEVTRACE_TEST_SHARE_H
#define DEVTRACE_TEST_SHARE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Returns how many of `turns' are run: one of SHARE, all if that is not set. */
static inline unsigned share_of(unsigned turns)
{
	const char *share = getenv("SHARE");
	unsigned n = share ? (unsigned)strtoul(share, NULL, 10) : 1;

	return n > 1 ? (turns + n - 1) / n : turns;
}

/* Returns where random numbers begin: at `all' if all turns are run, where nobody has chosen else,
 * which is printed. SEED: there. */
static inline unsigned share_seed(unsigned all)
{
	const char *given = getenv("SEED");
	unsigned seed = given		  ? (unsigned)strtoul(given, NULL, 10)
			: share_of(2) < 2 ? (unsigned)time(NULL) | 1
					  : all;

	if (seed != all)
		printf("# SEED=%u\n", seed);
	return seed;
}

#endif
