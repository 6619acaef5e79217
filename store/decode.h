/* SPDX-License-Identifier: MIT */
/* Decoding one chunk, in batches. Everything in the blobs is checked before it is used. */
#ifndef DT_STORE_DECODE_H
#define DT_STORE_DECODE_H

#include "store/chunk.h"

#define DT_BATCH 1024 /* records */

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

/*
 * A chunk that is being decoded. Zero it before the first use; it can be reused for the next chunk.
 */
struct dt_decoder {
	uint32_t n, position;  /* records, and how many of them have been decoded */
	uint32_t locals, runs; /* dictionary entries, and runs of one thread each */
	struct dt_local *local;
	uint32_t local_size;

	/* these point into `memory' */
	const uint8_t *tick_low, *tick_high, *site_low, *site_high, *sp_low, *sp_high;
	const uint64_t *tick_escape, *tick_escape_end, *sp_escape, *sp_escape_end;
	const uint32_t *run_tid, *run_length;
	const uint16_t *core;
	struct dt_bytes memory;
	uint64_t last_ticks, last_sp;
	uint32_t run, run_left; /* index of the run, and records left in it; whoever calls
				   dt_decoder_batch() moves both on */

	bool has_values;
	uint64_t back; /* largest number of ticks by which a record is earlier than one before it */
	const uint8_t *length, *data, *piece_low, *piece_high; /* of what comes next */
	const uint64_t (*piece)[4];			       /* the different pieces of texts */
	struct dt_bytes value_memory;
};

/*
 * Loads a chunk from its events blob and its vals blob; vals may be NULL if the values are not
 * wanted. records: how many the table says it has. sites: the highest row of a site; a higher one
 * in the blob is refused. dctx: a ZSTD_DCtx. The blobs are not needed afterwards. Returns -1 if the
 * chunk is damaged or memory is out.
 */
int dt_decoder_load(struct dt_decoder *d, void *dctx, const void *events, size_t events_size,
		    const void *vals, size_t vals_size, uint32_t records, uint32_t sites,
		    struct dt_error *e);

/* Decodes up to DT_BATCH further records; b->n is 0 at the end. core: the core of a chunk whose
 * records do not name theirs. Returns -1 if the chunk is damaged. */
int dt_decoder_batch(struct dt_decoder *d, unsigned core, struct dt_batch *b, struct dt_error *e);

/* Frees what the decoder holds, not *d itself. */
void dt_decoder_free(struct dt_decoder *d);

#endif
