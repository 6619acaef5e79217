/* SPDX-License-Identifier: MIT */
/* The insides of a store, for store.c (the file), store-records.c and store-rows.c; for nobody
 * else. */
#ifndef DT_STORE_STORE_WORK_H
#define DT_STORE_STORE_WORK_H

#include <sqlite3.h>
#include <zstd.h>

#include "store/store.h"
#include "store/chunk.h"
#include "store/sites.h"

#define BY_TARGET 0xffffffffu

/* A core's quick look-up from what a record says to the open chunk's dictionary. */
struct slot {
	uint64_t pc, target; /* see struct dt_site_entry */
	uint32_t pid;
	uint32_t tag; /* kind, flags; 0: free */
	uint32_t generation;
	uint32_t local; /* or BY_TARGET */
};

struct core {
	struct dt_encoder *chunk;
	struct slot *slot;
	uint32_t slots, used;  /* slots: a power of two */
	uint32_t generation;   /* slots of another generation are free */
	uint32_t tid, pid;     /* last thread seen, and its process */
	uint32_t pids_version; /* when pid was looked up */
	uint64_t written;      /* records in chunks already written out */
	uint64_t lost;	       /* loss that is not in the file yet... */
	uint64_t lost_after;   /* ...and the number of records before it */
	uint64_t lost_begin;   /* ticks of the record before it */
	bool loss_open;	       /* the end of the last loss in the file is not known yet */
	uint64_t last_ticks;
};

enum statement {
	META,
	PROCESS,
	PROCESS_END,
	EXEC,
	COMPLETE,
	THREAD,
	MODULE,
	MODULE_END,
	MODULE_NAME,
	UNHOOKED,
	UNHOOKED_CALLER,
	FUNCTION,
	TYPE,
	SITE,
	CLOCK,
	EVENT,
	LOSS,
	LOSS_END,
	PAUSE,
	CHANGE,
	HELD,
	WRITTEN,
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
	dt_describe_fn *describe;
	void *ctx;
	struct core *core[65536];
	unsigned cores; /* highest core number seen, plus one */
	struct dt_sites sites;
	uint32_t targets;	   /* rows of sites for one target each */
	struct dt_sites functions; /* by module, in place of the pid, and address */
	struct dt_type_entry {
		uint64_t hash; /* of its text */
		int64_t row;
	} * type;
	size_t types;
	struct dt_pids pids;
	uint32_t pids_version;
	struct dt_bytes events, vals;
	bool in_transaction, failed;
	bool losses;  /* in the transaction; maybe behind records that are not in it yet */
	bool late;    /* in memory until it has records: another trace is at the path */
	bool patient; /* it was, when it was begun */
	bool has_records;
	bool closing;	 /* nothing comes after */
	const char *old; /* appended to the name of what was there; NULL: nothing was */
	bool keep_old;	 /* when the new one is complete, too */
	struct dt_error failure;
};

/* Every failure to write ends here: it is remembered, and said again by every later call. */
int dt_store_fail(struct dt_store *s, struct dt_error *e);
int dt_store_no_memory(struct dt_store *s, struct dt_error *e);
/* Runs a statement whose parameters are bound, and forgets them. */
int dt_store_run(struct dt_store *s, enum statement which, struct dt_error *e);
int dt_store_begin(struct dt_store *s, struct dt_error *e);
void dt_store_bind_text(sqlite3_stmt *t, int i, const char *text);
void dt_store_bind_u64(sqlite3_stmt *t, int i, uint64_t v);
int dt_store_commit(struct dt_store *s, struct dt_error *e);

#endif
