/* SPDX-License-Identifier: MIT */
/*
 * The log: the records that a session keeps for readers, in the order of time. It is what the
 * command `size' sizes and what `trace' reads. The recorder thread writes it, and so does a command
 * that injects a record; any thread may read it. It has a lock of its own; no other lock is taken
 * while that one is held. At any time
 *
 *	made = taken by readers + still in the log + lost
 */
#ifndef DT_SESSION_LOG_H
#define DT_SESSION_LOG_H

#include <pthread.h>
#include "core/error.h"
#include "core/ring.h"

/* A log. Every field is guarded by `lock'. */
struct dt_log {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* records came, room was made, or it was closed */
	struct dt_record *record;
	uint64_t size; /* room for so many records, a power of two */
	uint64_t head; /* records put in since the last dt_log_resize() or _reset(): position of the
			  next; its place is head & (size - 1) */
	uint64_t tail; /* position of the oldest record that has not been taken */
	uint64_t dropped; /* records not put in: there was no room here (policy drop), or none in a
			     ring */
	uint64_t overwritten; /* records that newer ones replaced before they were taken */
	uint64_t told;	      /* how many of those two a reader has been told of */
	uint64_t in, out;     /* entries and exits ever put in or dropped here, or stored */
	uint64_t stored;      /* records that went to a file instead, ... */
	bool unasked;	      /* ...without context switches, which nobody has asked for */
	enum dt_policy policy;
	bool closed; /* no more records will come */
};

/*
 * Makes an empty log with room for `size' records, a power of two. Returns 0, or -1 and an error.
 */
int dt_log_init(struct dt_log *l, uint64_t size, struct dt_error *e);
/* Frees the log; allowed when dt_log_init() has failed. */
void dt_log_free(struct dt_log *l);

/* Gives the log another size. It is empty then, and its counts are zero, except `in' and `out'.
 * Returns 0, or -1 and an error. */
int dt_log_resize(struct dt_log *l, uint64_t size, struct dt_error *e);
/* Empties the log and sets all counts to zero. */
void dt_log_reset(struct dt_log *l);
/* Tells readers that no more records will come. */
void dt_log_close(struct dt_log *l);

/* Returns how many records may be put now: with the policy wait as many as there is room for, else
 * ~0. */
uint64_t dt_log_room(struct dt_log *l);

/* Puts n records into the log. lost: how many are missing before them. */
void dt_log_put(struct dt_log *l, const struct dt_record *r, size_t n, uint64_t lost);

/* Counts n records that went to a file instead, and `lost' that are missing before them. */
void dt_log_note(struct dt_log *l, const struct dt_record *r, size_t n, uint64_t lost);

/* Counts entries and exits that were left out by the words of a filter. */
void dt_log_left_out(struct dt_log *l, uint64_t in, uint64_t out);

/*
 * Copies to `out' up to max of the oldest records, from position *from on when that is still there
 * (0: from the oldest), and returns how many. *from becomes the position of the first one copied.
 * *lost is how many lost records no reader has been told of yet; lost NULL: these stay for another
 * reader. Waits up to ms for a record (0: not at all; -1: as long as it takes). consume: the
 * records are taken.
 */
size_t dt_log_read(struct dt_log *l, struct dt_record *out, size_t max, uint64_t *from,
		   uint64_t *lost, int ms, bool consume);

/* Tells whether the log is empty. */
bool dt_log_is_empty(struct dt_log *l);

/* Takes all records before the position, without copying them. */
void dt_log_clear(struct dt_log *l, uint64_t position);

/*
 * Tells the position of the oldest record that has not been taken, and of the next that will come.
 */
void dt_log_positions(struct dt_log *l, uint64_t *oldest, uint64_t *next);

#endif
