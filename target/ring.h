/* SPDX-License-Identifier: MIT */
/* The rings' protocol on the writers' side: making room, counting losses, and the shared ring. */
#ifndef DT_TARGET_RING_H
#define DT_TARGET_RING_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/* Returns the ring that is no core's. */
struct dt_ring *dt_shared_ring(void);

/* Changes *word and the word after it, if they are *first and *second; else sets these to what they
 * are. word is aligned to 16 bytes. */
bool dt_pair_change(uint64_t *word, uint64_t *first, uint64_t *second, uint64_t new_first,
		    uint64_t new_second);

/*
 * Called when the ring has no room at pos. Returns true when it may have room after this, false
 * when the record is not to be kept (if it counts as lost, it has been counted). The time that it
 * took to make room is told to the controller.
 */
bool dt_ring_make_room(struct dt_ring *r, uint64_t pos, const struct dt_record *rec);

void dt_record_copy(struct dt_record *to, const struct dt_record *from);

/* Takes the shared ring's slot for the place at pos, and writes the record there. */
void dt_shared_ring_fill(struct dt_ring *r, uint64_t pos, const struct dt_record *rec);

/* Looks whether recording is frozen at pos. limit: what the ring has as such. */
bool dt_limit_is_frozen_at(uint64_t limit, uint64_t pos);

/*
 * Appends to the shared ring. Returns true when it is to be tried again. A place is taken by
 * compare-and-swap on pos, its slot by another on the slot's mark. So a writer that is stopped or
 * killed half way loses its own record, and no other one waits for it. The reader counts a place
 * that is never committed as lost. Where writers wait for room, no signal handler may come in
 * between: it would wait for the place of the thread that it has interrupted.
 *
 * The caller has seen that the session is not careful. That may have changed since, and recording
 * may have frozen. A record whose place is after that point all the same was begun before it, so
 * its time is set to that of the freezing. (Not every processor can change pos and limit together,
 * which careful sessions need.)
 */
bool dt_shared_ring_append(struct dt_record *rec);
#pragma GCC visibility pop

#endif
