/* SPDX-License-Identifier: MIT */
/* The insides of a store, for store.c (the file), store-records.c and store-rows.c only. */
#ifndef DT_STORE_STORE_WORK_H
#define DT_STORE_STORE_WORK_H

#include <sqlite3.h>
#include <zstd.h>

#include "store/store.h"
#include "store/chunk.h"
#include "store/pool.h"
#include "store/sites.h"

#define BY_TARGET 0xffffffffu /* slot.local: look again, with the record's target */

/* A core's quick look-up from what a record says to the open chunk's dictionary. */
struct slot {
	uint64_t pc, target; /* see struct dt_site_entry */
	uint32_t pid;
	uint32_t tag;	     /* kind, and flags << 8 */
	uint32_t generation; /* only if it is the core's, the slot is in use */
	uint32_t local;	     /* index in the chunk's dictionary, or BY_TARGET */
};

/*
 * What the writer holds of a core: the open chunk, and the loss that may precede its next record.
 */
struct core {
	struct dt_encoder *chunk;
	struct slot *slot;
	uint32_t slots, used;	/* slots: a power of two */
	uint32_t generation;	/* slots of another generation are free */
	uint32_t tid, pid;	/* last thread seen, and its process */
	uint32_t pids_version;	/* when pid was looked up */
	uint64_t written;	/* records in chunks that have been written out */
	uint64_t lost;		/* records lost that are not in the file yet... */
	uint64_t lost_switches; /* how many of them are context switches... */
	bool lost_unknown;	/* ...and of some it is not known */
	uint64_t lost_after;	/* ...the number of records before the loss... */
	uint64_t lost_begin;	/* ...and ticks of the last record before it */
	bool loss_open;		/* the end of the last loss in the file is not known yet */
	uint64_t last_ticks;	/* ticks of the record that was put last */
};

/* The prepared statements: store.c has their text. */
enum statement {
	META,
	PROCESS,
	PROCESS_LIKE,
	PROCESS_END,
	EXEC,
	COMPLETE,
	THREAD,
	NUMBER,
	MODULE,
	MODULE_END,
	MODULE_NAME,
	FUNCTION_NAME,
	UNHOOKED,
	UNHOOKED_CALLER,
	JIT,
	FUNCTION,
	TYPE,
	SITE,
	CLOCK,
	EVENT,
	LOSS,
	LOSS_END,
	LOST_SWITCHES,
	PAUSE,
	CHANGE,
	HELD,
	WRITTEN,
	WAITED,
	USAGE,
	SYNC,
	LEFT_OUT,
	BUDGET_OFF,
	LEFT_RECORDS,
	SUM,
	SUM_LINE,
	STACK,
	STACK_FRAME,
	BACKTRACE,
	WAKER,
	CHUNK,
	BEGIN,
	COMMIT,
	STATEMENTS
};

struct dt_store {
	char *path;
	sqlite3 *db;
	sqlite3_stmt *statement[STATEMENTS];
	ZSTD_CCtx *cctx;
	struct dt_pool *pool; /* compresses chunks; NULL: the thread that puts records does */
	dt_describe_fn *describe;
	void *ctx;
	struct core *core[65536];
	unsigned cores; /* highest core number seen, plus one */
	struct dt_sites sites;
	uint32_t targets;	   /* how many rows of sites are for one target only */
	struct dt_sites functions; /* keyed by module, in place of the pid, and address */
	/* Rows of table type. */
	struct dt_type_entry {
		uint64_t hash; /* of the type's text */
		int64_t row;
		char *names; /* the text, if it has names for values; or NULL */
	} * type;
	size_t types;
	struct dt_pids pids;
	uint32_t pids_version; /* counts the changes of pids */
	struct dt_bytes events, vals;
	bool in_transaction, failed;
	bool losses; /* the open transaction has losses, perhaps ones after records that it has not
			got yet */
	bool late;   /* the trace is in memory until it has records: another trace is at the path */
	bool patient; /* it was late when it was begun */
	bool has_records;
	bool passing;	 /* it need not get to the disk */
	bool closing;	 /* dt_store_close() is running: nothing more is put */
	const char *old; /* appended to the name of the trace that was at the path; NULL: none was
			    there */
	bool keep_old;	 /* the old trace is also kept when the new one is complete */
	struct dt_error failure; /* what went wrong first, once `failed' is set */
};

/* Remembers a failure to write and marks the store as failed: every later call says it again.
 * Returns -1. */
int dt_store_fail(struct dt_store *s, struct dt_error *e);
/* As dt_store_fail(), for lack of memory. */
int dt_store_no_memory(struct dt_store *s, struct dt_error *e);
/* Runs a statement whose parameters are bound, and resets it. Returns -1 on error. */
int dt_store_run(struct dt_store *s, enum statement which, struct dt_error *e);
/* Begins a transaction unless one is open. Returns -1 on error, and always once the store has
 * failed. */
int dt_store_begin(struct dt_store *s, struct dt_error *e);
/* Binds parameter i to a copy of the text; NULL is "". */
void dt_store_bind_text(sqlite3_stmt *t, int i, const char *text);
void dt_store_bind_u64(sqlite3_stmt *t, int i, uint64_t v);
/* Commits the open transaction, if any; if the store is late and has records, puts the trace at its
 * path. Returns -1 on error. */
int dt_store_commit(struct dt_store *s, struct dt_error *e);

#endif
