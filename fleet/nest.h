/* SPDX-License-Identifier: MIT */
/* Calls of one function, for evidence that calls of one host lie inside those of another. */
#ifndef DT_FLEET_NEST_H
#define DT_FLEET_NEST_H

#include "store/reader.h"

/* Finds all calls of the function with this name whose begin and end are known, by begin, in a
 * malloc'ed array. -1: *e says why not, also if there is none. */
int dt_nest_calls(struct dt_reader *r, const char *function, struct dt_times **call, size_t *n,
		  struct dt_error *e);

#endif
