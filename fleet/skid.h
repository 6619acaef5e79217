/* SPDX-License-Identifier: MIT */
/*
 * How far apart the recordings of a fleet's machines froze: one froze, and the others were told
 * (record --hosts).
 */
#ifndef DT_FLEET_SKID_H
#define DT_FLEET_SKID_H

#include "fleet/fleet.h"

#define DT_SKID_MOST 1000000000 /* ns: what is further apart does not belong together */

/* A freeze of all machines. */
struct dt_skid {
	uint32_t first, last; /* hosts: whose recording froze first, and last */
	double ns;	      /* from the first to the last */
	double error; /* ns: by how much that may be wrong; infinite: their clocks are not known */
};

/* Calls fn for each freeze that all hosts have, in the order of the first host's. Returns -1 on
 * error. */
int dt_fleet_skid(const struct dt_fleet *f, struct dt_reader **reader,
		  void (*fn)(void *ctx, const struct dt_skid *skid), void *ctx, struct dt_error *e);

#endif
