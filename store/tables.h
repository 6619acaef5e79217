/* SPDX-License-Identifier: MIT */
/*
 * The descriptions in a trace file (sites, functions, threads...), which a reader holds in memory.
 */
#ifndef DT_STORE_TABLES_H
#define DT_STORE_TABLES_H

#include <sqlite3.h>
#include "core/error.h"
#include "store/info.h"
#include "store/shown.h"

/* A growing array; its owner knows the type of the elements. */
struct dt_array {
	void *p;
	size_t n, size; /* in elements: used, and with room */
};

struct dt_block; /* a block of memory for strings */

struct dt_tables {
	/* struct dt_site, dt_function_info...: element i is row i + 1 */
	struct dt_array sites, functions, modules, types;
	/*
	 * struct dt_thread_info, sorted by tid; if a tid was described several times, the last one
	 */
	struct dt_array threads;
	struct dt_array events;	 /* struct dt_event_row, sorted by subsystem and event */
	struct dt_array numbers; /* struct dt_number_info, sorted by id */
	struct dt_array execs;	 /* struct dt_exec_info, sorted by pid and ticks */
	struct dt_array helds;	 /* struct dt_hold_info, one for each row in the file, sorted by tid
				    and begin */
	struct dt_array holds;	 /* struct dt_times made of helds: thread by thread, ascending,
				    overlapping ones put together... */
	struct dt_array held_threads; /* ...and struct dt_held_thread: where each thread's are in
					 holds; by tid */
	struct dt_array pauses; /* struct dt_times, by begin: nothing was recorded, or something
				   that was recorded went off */
	struct dt_array offs;	/* struct dt_off, by function and begin */
	size_t offs_over;	/* how many of them are over */
	size_t holds_of;	/* how many helds have gone into holds */
	struct dt_array processes, clocks, meta; /* dt_process_info, dt_clock, dt_meta */
	struct dt_array jit;			 /* struct dt_jit_info, in the order of the file */
	struct dt_shown shown;
	struct dt_block *blocks;
};

struct dt_type_info {
	const char *text;
};

struct dt_hold_info {
	uint32_t tid;
	struct dt_times times;
};

/* The n times of a thread in dt_tables.holds, from `first' on. */
struct dt_held_thread {
	uint32_t tid;
	size_t first, n;
};

/* The kernel's number of a thread or process that has another one in the file. */
struct dt_number_info {
	uint32_t id, number;
};

struct dt_meta {
	const char *key, *value;
};

/* Reads what has been added to the file since the last call. Returns -1 on error; *e has SQLite's
 * message, or begins with "damaged". */
int dt_tables_refresh(struct dt_tables *t, sqlite3 *db, struct dt_error *e);
/* Frees what the tables hold, not *t itself. */
void dt_tables_free(struct dt_tables *t);

#endif
