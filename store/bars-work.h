/* SPDX-License-Identifier: MIT */
/* The insides of a store of bars, for bars.c (its lanes), bars-block.c, bars-blob.c and bars-file.c
 * only. */
#ifndef DT_STORE_BARS_WORK_H
#define DT_STORE_BARS_WORK_H

#include <pthread.h>
#include <sqlite3.h>
#include <zstd.h>

#include "store/bars.h"

#define BLOCK	512  /* bars */
#define CACHED	1024 /* decoded blocks that are kept, 37 MB */
#define QUEUED	64   /* most blobs that wait to be compressed */
#define WOKEN	16 /* so many blobs, or somebody who waits, wake the keeper: small ones are many */
#define HEAD_ID 1

struct block {
	int64_t id;
	uint64_t first, last;  /* least and greatest end of its bars */
	uint64_t since, until; /* least end in this block and all after it; greatest end in it and
				  all before it */
	uint32_t n;
};

struct lane {
	struct dt_lane key;
	struct block *block;
	size_t blocks, room;
	struct dt_bar *bar; /* bars that are in no block yet */
	uint32_t n, bar_room;
};

/* The lanes of one track, by level and single. */
struct lanes {
	struct lane *of[DT_LEVELS][2];
};

/* A decoded block. */
struct cached {
	int64_t id; /* 0: none */
	uint32_t n;
	struct dt_bar *bar; /* BLOCK of them */
};

/* A blob on its way into the database. */
struct job {
	int64_t id;
	struct dt_bytes bytes;
};

/*
 * Blobs are compressed and inserted by a thread of their own, which has the database and cctx to
 * itself as long as there are any. Everybody else calls dt_bars_settle() before using the database.
 */
struct keeper {
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock;	   /* protects everything below */
	pthread_cond_t come, gone; /* come: a reason to work; gone: at most `until' jobs are left */
	struct job job[QUEUED];
	unsigned long put, taken; /* jobs put and taken, ever */
	unsigned long until;	  /* somebody waits until at most that many are left; QUEUED: nobody
				     waits */
	bool end;
	struct dt_error error; /* the first error; "": none */
};

struct dt_bars {
	struct keeper keeper;
	int64_t last_id;
	sqlite3 *db;
	sqlite3_stmt *insert, *select;
	struct lanes **lane; /* by track; NULL: it has none */
	uint32_t tracks;
	uint64_t rows;	 /* rows that the database had when it was opened: each block has one */
	uint64_t blocks; /* blocks that the head has told of */
	struct cached *cache; /* by id % CACHED */
	struct dt_bytes scratch, packed;
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
};

static inline int dt_bars_sql_error(const struct dt_bars *b, struct dt_error *e)
{
	return dt_fail(e, "the summaries for the time line: %s", sqlite3_errmsg(b->db));
}

static inline int dt_bars_no_memory(struct dt_error *e)
{
	return dt_fail(e, "out of memory for the time line");
}

static inline int dt_bars_damaged(struct dt_error *e)
{
	return dt_fail(e, "the summaries for the time line are damaged");
}

/* Makes a store without a database. NULL on error. */
struct dt_bars *dt_bars_allocate(struct dt_error *e);
/* Prepares to read from the database, which is open. Returns -1 on error. */
int dt_bars_prepare(struct dt_bars *b, struct dt_error *e);
/* Adds a lane, unless it is there. Returns NULL when out of memory, or if there is no such level.
 */
struct lane *dt_bars_make_lane(struct dt_bars *b, struct dt_lane key);

/* ---- bars-blob.c ---- */

/* Begin and end a keeper; its thread begins with the first blob. */
void dt_keeper_begin(struct keeper *k);
void dt_keeper_end(struct keeper *k);
/* Waits until no blobs are on their way. Returns -1 if one could not be kept. */
int dt_bars_settle(struct dt_bars *b, struct dt_error *e);

/* ---- bars-block.c ---- */

/* Makes a block of the lane's bars that are in none yet. Returns -1 on error. */
int dt_bars_write_block(struct dt_bars *b, struct lane *l, struct dt_error *e);
/* Returns a block's bars, which stay until another block is read. NULL on error. */
const struct cached *dt_bars_read_block(struct dt_bars *b, const struct block *x,
					struct dt_error *e);
/* Sets until and since of all blocks, which have just been read from a file. */
void dt_bars_order_blocks(struct lane *l);

#endif
