/* SPDX-License-Identifier: MIT */
/* Evidence from TCP connections between the machines of a fleet, by positions in their streams. */
#ifndef DT_FLEET_STREAMS_H
#define DT_FLEET_STREAMS_H

#include "fleet/fleet.h"

/* Adds to f->piece what connections say that have both ends in these traces, and sets f->streams.
 * -1: *e says why not. */
int dt_streams_gather(struct dt_fleet *f, struct dt_reader **reader, struct dt_error *e);

#endif
