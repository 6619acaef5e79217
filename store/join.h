/* SPDX-License-Identifier: MIT */
/*
 * Joining traces: all of one is added to another one that is being made, with its times brought to
 * the other's clock. Rows, threads, processes and cores get numbers of their own there, so that
 * those of several traces are told apart. Chunks are encoded anew: nothing else may put records
 * into such a store.
 */
#ifndef DT_STORE_JOIN_H
#define DT_STORE_JOIN_H

#include "store/reader.h"
#include "store/store.h"

/* Numbers of threads and processes begin here, as do those of table `again' in any trace. */
#define DT_JOIN_FIRST_ID (1u << 30)

/* What has been joined so far; zeroed at first. */
struct dt_joined {
	uint32_t ids;	    /* threads and processes */
	unsigned shared;    /* rings of no core */
	bool no_written;    /* of one it is not known how many records were written */
	uint32_t functions; /* what was added to the numbers of the last trace's functions */
};

struct dt_join_from {
	struct dt_reader *reader;
	/* gives a tick of the trace as one of the new one; must not decrease as ticks increase */
	uint64_t (*place)(void *ctx, uint64_t ticks);
	void *ctx;
	unsigned core, cores; /* its first core in the new trace, and how many it has */
	unsigned all;	      /* cores of all traces */
	bool clocks;	      /* with the readings of its clocks */
};

/* Creates the file that traces are joined in: dt_store_create(). */
struct dt_store *dt_join_create(const char *path, struct dt_error *e);

/* Returns how many cores a trace has: as it says, or more if records are of more; 0: error. */
unsigned dt_join_cores(struct dt_reader *r, struct dt_error *e);

/* Writes table meta of n joined traces with so many cores in all: what is true of all, or says how
 * to read the file, is the reference's; counts of what is not known are added up. */
int dt_join_meta(struct dt_store *s, struct dt_reader *const *reader, uint32_t n,
		 uint32_t reference, unsigned cores, struct dt_error *e);

/* Writes how a trace's cores' counters differ; core: its first one in the new trace. */
int dt_join_offsets(struct dt_store *s, const struct dt_reader *r, unsigned core, unsigned cores,
		    struct dt_error *e);

/*
 * Adds a trace: what it describes, its losses and its records, without table meta, evidence of
 * `sync', and sums that were made while recording. Its threads and processes get the numbers from
 * DT_JOIN_FIRST_ID + joined->ids before the call up to the same after it. Returns -1 on error.
 */
int dt_store_join(struct dt_store *s, struct dt_joined *joined, const struct dt_join_from *from,
		  struct dt_error *e);

#endif
