/* SPDX-License-Identifier: MIT */
/* The insides of a reader, for reader.c (the file, its descriptions) and merge.c (its records). */
#ifndef DT_STORE_READER_WORK_H
#define DT_STORE_READER_WORK_H

#include <sys/types.h>
#include <zstd.h>
#include "store/decode.h"
#include "store/reader.h"
#include "store/tables.h"

struct dt_loss {
	uint64_t after, lost, begin, end;
};

struct dt_cursor {
	unsigned core;
	uint64_t next;	/* first record of the chunk to load next */
	uint64_t base;	/* number of the batch's first record */
	uint32_t at;	/* in the batch */
	uint32_t used;	/* by the span that was handed out last */
	uint64_t key;	/* ticks of the record at `at`: the merge's order */
	uint64_t bound; /* before this, only the thread at `at` is met on this core */
	bool ended;	/* nothing more just now */
	struct dt_decoder decoder;
	struct dt_batch *batch;
	struct dt_loss *loss; /* of the loaded chunk, ascending; at the end: what follows it */
	uint32_t losses, loss_at, loss_size;
	/* a loss at the end of a live file has been said, but may grow, or come again when a chunk
	 * follows: how much of which one has been said */
	uint64_t said_after, said_lost;
	uint64_t chunk;	  /* number of the loaded chunk's first record */
	uint64_t back;	  /* ticks that a record of it, or behind it, is earlier than one of it, at
			     most */
	uint64_t batches; /* that have been left */
	/* the first record behind the range, where the next range begins; looking further may have
	 * gone on */
	struct {
		bool set;
		uint64_t chunk, batches;
		uint32_t at, run, run_left, loss_at;
	} behind;
};

enum dt_reader_statement { CHUNK, FOLLOWING, VALS, LOSSES, CORES, LIMIT, STATEMENTS };

struct dt_reader {
	char *path;
	dev_t device; /* of the file, with inode; 0, 0: it has gone from its path by now */
	ino_t inode;
	sqlite3 *db;
	sqlite3_stmt *statement[STATEMENTS];
	ZSTD_DCtx *dctx;
	struct dt_tables tables;
	struct dt_reader_range range;
	uint64_t limit; /* last chunk that this pass reads */
	bool through;	/* the range has been read to its end */
	uint64_t back;	/* the largest of the cursors' ever */
	struct dt_cursor **cursor;
	size_t cursors;
	struct dt_cursor **heap; /* those not ended; the earliest first */
	size_t heaped;
	struct dt_cursor *current;		    /* whose span was handed out last */
	bool (*watch)(void *ctx, uint64_t records); /* NULL: nobody */
	void *watching;
	bool failed; /* dt_reader_next() has failed and says so again */
	struct dt_error failure;
};

/* What a failed statement means, as the line of an error; -1. */
int dt_reader_sql_error(const struct dt_reader *r, struct dt_error *e);

void dt_reader_free_cursors(struct dt_reader *r);

int64_t dt_reader_single(struct dt_reader *r, const char *sql);

#endif
