/* SPDX-License-Identifier: MIT */
/*
 * The log: what of the records a session keeps for whoever reads it, in the order of time. It is
 * what `size' sizes and `trace' reads. Writer: the recorder thread; readers: any thread. Its lock
 * is its own; nothing else is locked while it is held.
 *
 *	made = taken by readers + still in the log + lost
 */
#ifndef DT_SESSION_LOG_H
#define DT_SESSION_LOG_H

#include <pthread.h>
#include "core/error.h"
#include "core/ring.h"

struct dt_log {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* records came, room was made, or it was closed */
	struct dt_record *record;
	uint64_t size; /* records, a power of two */
	uint64_t head; /* records put in since the last dt_log_resize(); the place is head & mask */
	uint64_t tail; /* the oldest that has not been taken */
	uint64_t dropped; /* not put in: no room here (drop), or none in a ring */
	uint64_t overwritten;
	uint64_t told;	  /* of those two, told to a reader */
	uint64_t in, out; /* entries and exits ever put in or dropped here, or stored */
	uint64_t stored;  /* records that went to a file instead */
	enum dt_policy policy;
	bool closed; /* nothing more will come */
};

int dt_log_init(struct dt_log *l, uint64_t size, struct dt_error *e);
void dt_log_free(struct dt_log *l);

/* Makes it another size, empty, its counts zero, but for in and out. */
int dt_log_resize(struct dt_log *l, uint64_t size, struct dt_error *e);
void dt_log_reset(struct dt_log *l);
void dt_log_close(struct dt_log *l);

/* How many records may be put now: with policy wait as many as there is room for. */
uint64_t dt_log_room(struct dt_log *l);

/* lost: records that are missing in front of these. */
void dt_log_put(struct dt_log *l, const struct dt_record *r, size_t n, uint64_t lost);

/* The same of records that go to a file, and not here: they are counted. */
void dt_log_note(struct dt_log *l, const struct dt_record *r, size_t n, uint64_t lost);

/*
 * Copies up to max of the oldest records, from position *from on when that is still there (0: the
 * oldest). *from becomes the position of the first one copied; *lost: how many records are missing
 * in front of them that nobody has been told of. Waits up to ms for a record (0: not at all; -1: as
 * long as it takes). consume: they are taken.
 */
size_t dt_log_read(struct dt_log *l, struct dt_record *out, size_t max, uint64_t *from,
		   uint64_t *lost, int ms, bool consume);

/* Is there nothing that could be taken? */
bool dt_log_is_empty(struct dt_log *l);

/* Everything in front of position is taken. */
void dt_log_clear(struct dt_log *l, uint64_t position);

/* The position of the oldest that has not been taken, and of the next that will come. */
void dt_log_positions(struct dt_log *l, uint64_t *oldest, uint64_t *next);

#endif
