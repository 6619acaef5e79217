/* SPDX-License-Identifier: MIT */
/*
 * The rings in the shared memory of a domain: starting and stopping them, and taking records out.
 */
#ifndef DT_SESSION_RINGS_H
#define DT_SESSION_RINGS_H

#include "core/error.h"
#include "core/ring.h"
#include "hook/shared.h"

/* Start and stop recording in one memory. Writers that wait for room are woken by a stop. */
void dt_rings_start(struct dt_shared *s);
void dt_rings_stop(struct dt_shared *s);

/*
 * Has the next record of each ring ring the bell, so that a reader who has found nothing need not
 * look again until then. The reader must look once more after this call: a record may have come
 * just before.
 */
void dt_rings_alert(struct dt_shared *s);

/*
 * Stops recording as dt_rings_stop() does, but messages of the traced processes are still answered.
 */
void dt_rings_pause(struct dt_shared *s);

/* Has every append looked at by the slow path from now on, or no longer. */
void dt_rings_careful(struct dt_shared *s, bool careful);

/* Freeze recording at once, let it go on, or freeze it after that many more records (0: let it go
 * on). Only while appends are looked at (dt_rings_careful()). */
void dt_rings_freeze(struct dt_shared *s, bool freeze);
void dt_rings_freeze_after(struct dt_shared *s, uint64_t records);
/* Tells whether recording is frozen. */
bool dt_rings_frozen(const struct dt_shared *s);

/*
 * Where a reader stands in one ring. Whenever the writers rest, this holds:
 *
 *	records written = taken + lost
 */
struct dt_ring_reader {
	const struct dt_shared *shared;
	struct dt_ring *ring;	    /* in the shared memory: any process may have written there */
	unsigned index;		    /* number of the ring; geometry.cores: the shared ring */
	uint64_t pos;		    /* position: bytes taken or passed over */
	uint64_t released;	    /* position up to which the writers know the ring to be read */
	bool broken;		    /* its content can not be true: nothing more is read */
	uint64_t latest;	    /* ticks of the last record; only where records are checked,
				       session/doubt.h */
	uint64_t lost;		    /* records lost that the next take reports */
	uint64_t taken, lost_total; /* records, since the session began */
	/* Losses noticed before the reader has come to their position, oldest first: gap[gap_first]
	 * to gap[gaps - 1]. There are no more of them than the ring has records. */
	struct dt_gap {
		uint64_t pos, lost;
	} * gap;
	size_t gap_first, gaps, gap_room;
	uint64_t stuck_since; /* shared ring: ns when the record at pos was first found unfinished;
				 0: it is not */
	struct dt_record *copy; /* the records taken last, in memory that only we can change */
};

#define DT_RING_TAKE 4096u /* records taken at a time, at most */

/* Makes a reader of the ring with that number, at its beginning. Returns 0, or -1 and an error. */
int dt_ring_reader_init(struct dt_ring_reader *r, const struct dt_shared *shared, unsigned index,
			struct dt_error *e);
void dt_ring_reader_free(struct dt_ring_reader *r);

/*
 * Takes the next records, max at most. *records points to them until the next call; *lost records
 * are missing directly before the first. 0 records with *lost set: a loss, and nothing after it
 * yet. last: no writer runs any more. dt_ring_release() then makes room for the writers.
 */
size_t dt_ring_take(struct dt_ring_reader *r, size_t max, bool last,
		    const struct dt_record **records, uint64_t *lost);
/* Tells the writers that what was taken may be overwritten. */
void dt_ring_release(struct dt_ring_reader *r);
/* Takes back the last n records taken, since they can not be true; nothing more of that ring is
 * read. */
void dt_ring_refuse(struct dt_ring_reader *r, size_t n);

#endif
