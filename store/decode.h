/* SPDX-License-Identifier: MIT */
/* Reading one chunk back, in batches. Everything in the blobs is checked before it is used. */
#ifndef DT_STORE_DECODE_H
#define DT_STORE_DECODE_H

#include "store/chunk.h"

#define DT_BATCH 1024

/* A batch of records, by columns. */
struct dt_batch {
	uint32_t n;
	uint64_t ticks[DT_BATCH];
	uint64_t sp[DT_BATCH];
	uint32_t site[DT_BATCH];
	uint8_t flags[DT_BATCH];
	uint16_t core[DT_BATCH];
	uint64_t value[DT_BATCH][4]; /* filled only when the values are loaded */
};

/* A chunk being read. Zero it before the first use; reuse it for the next chunk. */
struct dt_decoder {
	uint32_t n, position;
	uint32_t locals, runs;
	struct dt_local *local;
	uint32_t local_size;

	/* into memory */
	const uint8_t *tick_low, *tick_high, *site_low, *site_high, *sp_low, *sp_high;
	const uint64_t *tick_escape, *tick_escape_end, *sp_escape, *sp_escape_end;
	const uint32_t *run_tid, *run_length;
	const uint16_t *core;
	struct dt_bytes memory;
	uint64_t last_ticks, last_sp;
	uint32_t run, run_left; /* run: which one; the caller of dt_decoder_batch() moves them */

	bool has_values;
	uint64_t back; /* ticks that a record is earlier than one before it, at most */
	const uint8_t *length, *data;
	struct dt_bytes value_memory;
};

/*
 * Loads the events blob. records: what the table says. sites: rows above are refused. vals may be
 * NULL: the values are not wanted. The blobs are not needed afterwards.
 */
int dt_decoder_load(struct dt_decoder *d, void *dctx, const void *events, size_t events_size,
		    const void *vals, size_t vals_size, uint32_t records, uint32_t sites,
		    struct dt_error *e);

/* The next up to DT_BATCH records; 0 in b->n at the end. core: of those that do not differ. */
int dt_decoder_batch(struct dt_decoder *d, unsigned core, struct dt_batch *b, struct dt_error *e);

void dt_decoder_free(struct dt_decoder *d);

#endif
