/* SPDX-License-Identifier: MIT */
#ifndef DT_HOOK_ENTERED_H
#define DT_HOOK_ENTERED_H

#include "core/code-map.h"

/* Returns for each function of c whether others enter it elsewhere than at its beginning, an array
 * that the caller frees; NULL: there is no memory. */
bool *dt_entered(const struct dt_code *c);

/*
 * Returns where the function goes on that the end of function i of the code runs into; 0: it does
 * not, or that is not certain: it may also leave in another way, and what looks like its end may be
 * filler that is never reached.
 */
uint64_t dt_runs_into(const struct dt_code *c, size_t i);

#endif
