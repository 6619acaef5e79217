/* SPDX-License-Identifier: MIT */
/* The rings in a session's shared memory: starting and stopping them, and taking records out. */
#ifndef DT_SESSION_RINGS_H
#define DT_SESSION_RINGS_H

#include "core/error.h"
#include "core/ring.h"
#include "hook/shared.h"

/* Appends are recorded from here on, or are not. */
void dt_rings_start(struct dt_shared *s);
void dt_rings_stop(struct dt_shared *s);

/*
 * Has the next record of each ring ring the bell, so that a reader who has found nothing need not
 * look again until then. Look once more behind it: one may have come just before.
 */
void dt_rings_alert(struct dt_shared *s);

/* As dt_rings_stop(), but messages of the traced processes are still answered. */
void dt_rings_pause(struct dt_shared *s);

/* From here on every append is looked at by the slow path, or is not any more. */
void dt_rings_careful(struct dt_shared *s, bool careful);

/*
 * Recording freezes here and now, or n records on (0: does not), or goes on. Only while appends are
 * looked at.
 */
void dt_rings_freeze(struct dt_shared *s, bool freeze);
void dt_rings_freeze_after(struct dt_shared *s, uint64_t records);
bool dt_rings_frozen(const struct dt_shared *s);

/*
 * Where a reader stands in one ring. The law that holds at any time the writers rest:
 *	records written = taken + lost
 */
struct dt_ring_reader {
	const struct dt_shared *shared;
	struct dt_ring *ring;
	unsigned index;	   /* of the ring; geometry.cores: the shared one */
	uint64_t pos;	   /* bytes taken or passed over */
	uint64_t released; /* bytes that the writers know to be taken */
	bool broken;	   /* somebody has written what can not be: nothing more is read */
	uint64_t latest;   /* ticks of the last record, where they are looked at: session/doubt.h */
	uint64_t lost;	   /* records lost since the last take */
	uint64_t taken, lost_total;
	/* losses noticed before the reader has come to where they are, oldest first: gap[gap_first]
	 * up to gap[gaps - 1]. No more than the ring has records */
	struct dt_gap {
		uint64_t pos, lost;
	} * gap;
	size_t gap_first, gaps, gap_room;
	uint64_t stuck_since; /* ns; shared ring: when the record at pos was first found unfinished
			       */
	struct dt_record *copy; /* what is read: nobody else can change it */
};

#define DT_RING_TAKE 4096u /* records that are taken at a time, at most */

int dt_ring_reader_init(struct dt_ring_reader *r, const struct dt_shared *shared, unsigned index,
			struct dt_error *e);
void dt_ring_reader_free(struct dt_ring_reader *r);

/*
 * The next records, at most max of them, in *records; *lost are missing directly before the first.
 * They stay valid until the next; dt_ring_release() makes room for the writers. 0 records with
 * *lost set: nothing yet, but a loss. last: no writer runs any more.
 */
size_t dt_ring_take(struct dt_ring_reader *r, size_t max, bool last,
		    const struct dt_record **records, uint64_t *lost);
void dt_ring_release(struct dt_ring_reader *r);
/* The last n records taken can not be right: nothing more of that ring is believed. */
void dt_ring_refuse(struct dt_ring_reader *r, size_t n);

#endif
