/* SPDX-License-Identifier: MIT */
/*
 * What pairing knows between two spans, as bytes: pairing goes on from there, as if it had begun at
 * the beginning. The arguments of open calls are not in it, and no cost (struct dt_pair_events) may
 * be subtracted.
 */
#ifndef DT_ANALYSE_SNAPSHOT_H
#define DT_ANALYSE_SNAPSHOT_H

#include "analyse/pair.h"
#include "store/chunk.h"

/* Appends to b. -1: out of memory. */
int dt_pair_save(const struct dt_pair *p, struct dt_bytes *b);

/* Forgets what p knows, without saying that any call has ended; then takes the bytes, if n. -1:
 * they are damaged, or out of memory. */
int dt_pair_restore(struct dt_pair *p, const uint8_t *bytes, size_t n);

#endif
