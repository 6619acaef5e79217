/* SPDX-License-Identifier: MIT */
/* Finding evidence in traces. */
#ifndef DT_FLEET_GATHER_H
#define DT_FLEET_GATHER_H

#include "fleet/fleet.h"

/* Adds to f->piece all evidence that the traces have about each other's clocks: messages of the
 * programs, what is in the tables sync. f->host has clocks. -1: *e says why not. */
int dt_gather(struct dt_fleet *f, struct dt_reader **reader, struct dt_error *e);

/* Adds one piece; -1: out of memory. */
int dt_gather_add(struct dt_fleet *f, const struct dt_fleet_piece *p, struct dt_error *e);

#endif
