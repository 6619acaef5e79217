/* SPDX-License-Identifier: MIT */
/* The descriptions in a trace file (sites, functions, threads…), held in memory by a reader. */
#ifndef DT_STORE_TABLES_H
#define DT_STORE_TABLES_H

#include <sqlite3.h>
#include "core/error.h"
#include "store/info.h"

struct dt_array {
	void *p;
	size_t n, size; /* in elements */
};

struct dt_block; /* of strings */

struct dt_tables {
	/* element i is row i + 1 */
	struct dt_array sites, functions, modules, types;
	/* sorted by tid; of several with one tid, the last described one */
	struct dt_array threads;
	struct dt_array events; /* sorted by subsystem and event */
	struct dt_array execs;	/* sorted by pid and ticks */
	struct dt_array helds;	/* struct dt_hold_info, as many as in the file, sorted */
	struct dt_array
		holds; /* struct dt_times made of them: thread by thread, in order, apart... */
	struct dt_array held_threads; /* ...and where each thread's are; by tid */
	struct dt_array pauses; /* struct dt_times: nothing was recorded, or something went off that
				 * was; by begin */
	size_t holds_of;	/* how many helds they have been made of */
	struct dt_array processes, clocks, meta;
	struct dt_block *blocks;
};

struct dt_type_info {
	const char *text;
};

struct dt_hold_info {
	uint32_t tid;
	struct dt_times times;
};

struct dt_held_thread {
	uint32_t tid;
	size_t first, n;
};

struct dt_meta {
	const char *key, *value;
};

/* Reads what has been added since the last call. -1: SQLite's error, or "damaged". */
int dt_tables_refresh(struct dt_tables *t, sqlite3 *db, struct dt_error *e);
void dt_tables_free(struct dt_tables *t);

#endif
