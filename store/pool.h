/* SPDX-License-Identifier: MIT */
/*
 * Threads that compress chunks for a writer. The writer hands over full chunks and gets them back
 * compressed, in the order in which it handed them over; so the file is the same however many
 * threads there are. A thread is begun when a chunk finds none that is free, and ends when there
 * has been nothing to do for a second.
 *
 * One thread at a time hands over, looks at the oldest and takes it back: the store's, which its
 * callers' lock sees to. Any number may help meanwhile.
 */
#ifndef DT_STORE_POOL_H
#define DT_STORE_POOL_H

#include "store/chunk.h"

/* The most threads that a recorder may have, the one that takes the records counted. */
#define DT_POOL_MOST 64u

struct dt_pool;

/* A chunk that was handed over. */
struct dt_packed {
	struct dt_encoder *chunk; /* what it was made of; only its numbers are to be read */
	unsigned core;
	uint64_t first;		      /* number of its first record among its core's */
	struct dt_bytes events, vals; /* compressed */
	bool failed;		      /* out of memory */
};

/* What a pool has done. */
struct dt_pool_counts {
	unsigned most;	    /* threads at a time, without those that helped */
	uint64_t chunks;    /* that were compressed... */
	uint64_t helped;    /* ...these by those that helped */
	uint64_t waits;	    /* times that somebody had to wait for a thread's chunk */
	uint64_t contended; /* times that a thread found the pool's lock taken */
};

/* Makes a pool for that many threads, 2 to DT_POOL_MOST; the caller's is one of them. None is begun
 * yet. NULL: out of memory. */
struct dt_pool *dt_pool_new(unsigned threads);
/* Ends the threads; chunks that have not been taken back are lost. p may be NULL. */
void dt_pool_free(struct dt_pool *p);

/* Returns whether there is room for one chunk more. */
bool dt_pool_has_room(struct dt_pool *p);
/*
 * Hands over a chunk, for which there is room, and puts an empty one in its place. A small one does
 * not wake or begin a thread: it is compressed when somebody helps, or a thread is there anyway.
 * Returns -1 when out of memory; the chunk is then still the caller's.
 */
int dt_pool_hand(struct dt_pool *p, struct dt_encoder **chunk, unsigned core, uint64_t first);
/* Returns the oldest chunk, if it has been compressed; otherwise NULL. wait: compresses it, or
 * waits until a thread has; NULL: there is none at all. */
const struct dt_packed *dt_pool_oldest(struct dt_pool *p, bool wait);
/* Takes back the oldest chunk, which has been compressed: its place is free. */
void dt_pool_retire(struct dt_pool *p);

/*
 * Compresses chunks until there is room for `room' more as soon as those that have been compressed
 * are taken back. When all others are being compressed by threads, waits for these.
 */
void dt_pool_help(struct dt_pool *p, unsigned room);
/* As dt_pool_help(), until all chunks have been compressed. */
void dt_pool_finish(struct dt_pool *p);

struct dt_pool_counts dt_pool_count(struct dt_pool *p);

#endif
