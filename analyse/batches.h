/* SPDX-License-Identifier: MIT */
/*
 * Whether the calls of a function took longer in one run than in another, by more than chance
 * explains.
 *
 * Calls that follow each other are alike (caches, frequencies, what else ran), so thousands of
 * calls say less than thousands of independent ones would. They are put together in their order to
 * at most DT_BATCHES batches of equally many calls; the means of the batches are compared by the
 * rank test of Mann, Whitney and Wilcoxon (U), which asks nothing of how the times are distributed,
 * so that a few outliers do not decide.
 */
#ifndef DT_ANALYSE_BATCHES_H
#define DT_ANALYSE_BATCHES_H

#include "core/types.h"

#define DT_BATCHES	 64
#define DT_BATCHES_LEAST 6 /* with fewer in a run the test could not find anything */

/* All zero at first. */
struct dt_batches {
	uint64_t per; /* calls of a batch: a power of two; 0: 1 */
	uint64_t sum[DT_BATCHES];
	unsigned n;	      /* batches that are complete: from half of DT_BATCHES on, if there are
				 so many calls */
	uint64_t rest, calls; /* the sum of the batch that is not, and its calls */
};

void dt_batches_add(struct dt_batches *b, uint64_t ticks);

/* Returns the median of the batches' means, in ticks; 0: there are none. */
double dt_batches_median(const struct dt_batches *b);

/*
 * Returns how likely it is that two runs whose calls take the same time differ so much in either
 * direction; 1 if there are too few batches. unit: what a tick is in each. The normal approximation
 * is used, with the correction for ties and for continuity.
 */
double dt_batches_compare(const struct dt_batches *const b[2], const double unit[2]);

#endif
