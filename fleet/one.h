/* SPDX-License-Identifier: MIT */
/*
 * A fleet as one trace: a new file with all that is in the traces, at the times at which the fleet
 * draws it, in ticks of the reference. It is made for what shows a single trace; the traces
 * themselves stay as they are. Table meta says which machine has which cores and threads, and how
 * far its times may be wrong (store/hosts.h).
 */
#ifndef DT_FLEET_ONE_H
#define DT_FLEET_ONE_H

#include "fleet/fleet.h"

/* Writes the trace to path, where nothing is yet. -1: *e says why not. */
int dt_fleet_one(const struct dt_fleet *f, struct dt_reader **reader, const char *path,
		 struct dt_error *e);

#endif
