/* SPDX-License-Identifier: MIT */
/* The insides of a reader, shared by reader-open.c (opening the file), reader.c (its descriptions),
 * merge.c (its records) and the check. */
#ifndef DT_STORE_READER_WORK_H
#define DT_STORE_READER_WORK_H

#include <sys/types.h>
#include <zstd.h>
#include "store/decode.h"
#include "store/reader.h"
#include "store/tables.h"

/*
 * A loss: `lost' records of a core are missing after its first `after' records, between two ticks.
 * Whether context switches are, or may be, among them, and others than these.
 */
struct dt_loss {
	uint64_t after, lost, begin, end;
	bool switches, others;
};

/* Where the reading of a core's records is. */
struct dt_cursor {
	unsigned core;
	uint64_t next;	/* number of the first record of the chunk to load next */
	uint64_t base;	/* number, on its core, of the batch's first record */
	uint32_t at;	/* index in the batch of the next record */
	uint32_t used;	/* records in the span that was handed out last */
	uint64_t key;	/* ticks of the record at `at': cursors are merged in this order */
	uint64_t bound; /* until this tick, the core has only records of the thread at `at' */
	bool ended;	/* there is nothing more at the moment */
	bool begun;	/* of a part (struct dt_reader_range): its first record has been met... */
	bool whole;	/* ...and all of the loaded chunk is in it */
	struct dt_decoder decoder;
	struct dt_batch *batch;
	struct dt_loss *loss; /* losses of the loaded chunk, ascending; at the core's end: the loss
				 after the last chunk */
	uint32_t losses, loss_at, loss_size;
	/*
	 * A loss at the end of a file that is still written has been handed out, but it may grow,
	 * or be read again when a chunk follows: this is its place, and how much of it has been
	 * handed out.
	 */
	uint64_t said_after, said_lost;
	uint64_t chunk; /* number, on its core, of the loaded chunk's first record */
	uint64_t back;	/* largest number of ticks by which a record in or after the loaded chunk is
			   earlier than one in it */
	uint64_t batches; /* batches that have been left so far */
	/* The first record after the range: the next range begins there. Reading may have gone on
	 * beyond it, to look for records that are late. */
	struct {
		bool set;
		uint64_t chunk, batches;
		uint32_t at, run, run_left, loss_at;
	} behind;
};

enum dt_reader_statement {
	READ_CHUNK,
	FOLLOWING,
	VALS,
	LOSSES,
	CORES,
	LIMIT,
	VERSION,
	READER_STATEMENTS
};

/* Which functions call some that are not hooked (unhooked.c). */
struct dt_unhooked_calls {
	struct dt_unhooked_call *call; /* by file and caller */
	size_t n;
	bool read; /* as the file was when the tables were read */
};

struct dt_reader {
	char *path;
	dev_t device; /* of the file, with inode; 0, 0: the file was gone from its path when it had
			 been opened */
	ino_t inode;
	sqlite3 *db;
	sqlite3_stmt *statement[READER_STATEMENTS];
	ZSTD_DCtx *dctx;
	bool kinds; /* the file says which losses are of context switches */
	struct dt_tables tables;
	int64_t refreshed, summed; /* versions of the file when the tables were read, and the
				      summary; 0: not yet */
	struct dt_summary summary;
	struct dt_unhooked_calls unhooked;
	struct dt_reader_range range;
	uint64_t limit; /* last chunk that this pass reads */
	bool through;	/* the range has been read to its end */
	uint64_t back;	/* the largest `back' that any cursor has had */
	struct dt_cursor **cursor;
	size_t cursors;
	struct dt_cursor **heap; /* cursors that have something to hand out; the earliest first */
	size_t heaped;
	struct dt_cursor *current;		    /* the cursor whose span was handed out last */
	bool (*watch)(void *ctx, uint64_t records); /* NULL: nobody */
	void *watching;
	bool failed; /* dt_reader_next() has failed and says so again */
	struct dt_error failure;
};

/* Writes what the last SQLite error means as the line of an error. Returns -1. */
int dt_reader_sql_error(const struct dt_reader *r, struct dt_error *e);

/* Frees the cursors: the next range begins without any. */
void dt_reader_free_cursors(struct dt_reader *r);

/* Returns the first column of a query's first row; -1: there is no row, or an error. */
int64_t dt_reader_single(struct dt_reader *r, const char *sql);

/* Tells of what kind the `lost' records of a loss are, by the column of a query that has the row of
 * lost_switches: NULL: none is a switch; 0: some may be; n: so many are. */
void dt_reader_lost_kinds(sqlite3_stmt *q, int column, uint64_t lost, bool *switches, bool *others);

/* Returns a number that is another one when somebody has written into the file since it was asked
 * for before; 0: it is not known. */
int64_t dt_reader_version(struct dt_reader *r);

void dt_unhooked_calls_free(struct dt_unhooked_calls *u);

/* No clock is slower than a tick in a millisecond, or faster than a thousand in a nanosecond: a
 * file that says so is damaged, and what is computed with such a rate would not fit into numbers.
 */
bool dt_reader_is_rate(double ns_per_tick);

#endif
