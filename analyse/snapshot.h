/* SPDX-License-Identifier: MIT */
/*
 * What pairing knows between two spans, as bytes, from which pairing can go on as if it had begun
 * at the beginning of the trace. The arguments of open calls are not included, and no cost (struct
 * dt_pair_events) may be subtracted.
 */
#ifndef DT_ANALYSE_SNAPSHOT_H
#define DT_ANALYSE_SNAPSHOT_H

#include "analyse/pair.h"
#include "store/chunk.h"

/* Appends what p knows to b. Returns -1 when out of memory. */
int dt_pair_save(const struct dt_pair *p, struct dt_bytes *b);

/* Makes p forget what it knows, without an event about the end of any call; then takes the bytes,
 * if n is not 0. Returns -1 if they are damaged, or memory is out. */
int dt_pair_restore(struct dt_pair *p, const uint8_t *bytes, size_t n);

#endif
