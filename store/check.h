/* SPDX-License-Identifier: MIT */
/* Checks whether a trace file is what doc/format.md says: its tables, and every chunk by itself. */
#ifndef DT_STORE_CHECK_H
#define DT_STORE_CHECK_H

#include "store/faults.h"
#include "store/reader.h"

/* What the check counted. Chunks that cannot be decoded are counted, their records are not. */
struct dt_check_chunks {
	uint64_t records, chunks, lost; /* lost: the sum of table loss */
	uint64_t
		written; /* records that the writers say they wrote, with those that had no place */
	bool written_known; /* some writer says so: the file has table written */
	uint64_t holds,
		held; /* waits of threads for devtrace, and the ticks of all of them together */
	uint64_t begin,
		end;	   /* ticks of the first and the last record; end 0: there are no records */
	uint64_t *of_site; /* number of records, by row of the site */
	uint32_t sites;	   /* the highest row of a site */
	bool cut;	   /* some chunk was left out: the counts are not complete */
};

/*
 * Checks the tables and decodes every chunk. Nobody may write to the file meanwhile. fn is called
 * as by dt_reader_watch(); it may be NULL. Returns -1 if the check cannot be done at all (out of
 * memory, interrupted); whatever is wrong with the file is added to f as a fault. The caller frees
 * c with dt_check_chunks_free(), also after an error.
 */
int dt_check_file(struct dt_reader *r, struct dt_faults *f, struct dt_check_chunks *c,
		  bool (*fn)(void *ctx, uint64_t records), void *ctx, struct dt_error *e);
void dt_check_chunks_free(struct dt_check_chunks *c);

/* From dt_check_hold() to dt_check_let_go() the reader sees the file as it was at the former,
 * whatever is written to it meanwhile. */
void dt_check_hold(struct dt_reader *r);
void dt_check_let_go(struct dt_reader *r);

#endif
