/* SPDX-License-Identifier: MIT */
/* Is a trace file what doc/format.md says? Its tables, and every chunk by itself. */
#ifndef DT_STORE_CHECK_H
#define DT_STORE_CHECK_H

#include "store/faults.h"
#include "store/reader.h"

/* What the chunks have, without those that can not be decoded. */
struct dt_check_chunks {
	uint64_t records, chunks, lost;
	uint64_t written; /* by who wrote them, with those that had no place */
	bool written_known;
	uint64_t holds, held; /* waits for devtrace, and the ticks of all of them together */
	uint64_t begin, end;  /* ticks: of the first and the last; end 0: there are none */
	uint64_t *of_site;    /* records, by row */
	uint32_t sites;	      /* the highest row */
	bool cut;	      /* some chunk was left out: what is counted is not all */
};

/*
 * Looks at the tables and decodes every chunk. The file is not to be written meanwhile. fn: as
 * dt_reader_watch(), may be NULL. -1: it cannot be done at all (memory, interrupted); whatever is
 * wrong with the file is a fault.
 */
int dt_check_file(struct dt_reader *r, struct dt_faults *f, struct dt_check_chunks *c,
		  bool (*fn)(void *ctx, uint64_t records), void *ctx, struct dt_error *e);
void dt_check_chunks_free(struct dt_check_chunks *c);

/* Between the two the reader sees the file as it is, whatever is written to it. */
void dt_check_hold(struct dt_reader *r);
void dt_check_let_go(struct dt_reader *r);

#endif
