/* SPDX-License-Identifier: MIT */
/* Leaving out evidence that says nothing new. */
#ifndef DT_ALIGN_REDUCE_H
#define DT_ALIGN_REDUCE_H

#include "align/net.h"

/* Sets use[] to false for evidence that follows from another piece and the bounds of the rates,
 * with both ends in the same stretches between cuts. -1: out of memory. */
int dt_evidence_reduce(const struct dt_evidence *evidence, size_t n, bool *use,
		       const struct dt_cut *cut, size_t cuts, double rate);

#endif
