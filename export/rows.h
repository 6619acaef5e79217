/* SPDX-License-Identifier: MIT */
/*
 * Calls as rows of one table, for engines that hold the traces of many machines (export/parquet.c,
 * export/clickhouse.c): doc/machines.md has the columns. The rows come in the order in which calls
 * end.
 */
#ifndef DT_EXPORT_ROWS_H
#define DT_EXPORT_ROWS_H

#include "export/export.h"

/* A name, which is UTF-8. Equal names are one and the same word; they are numbered from 0. */
struct dt_row_word {
	uint32_t number, n; /* n: bytes */
	const char *text;   /* with a NUL behind it */
};

struct dt_row {
	const struct dt_row_word *host, *build, *module, *function, *ended;
	uint32_t process, thread; /* as their machine numbers them; 0: none */
	uint32_t depth;
	uint64_t call, caller; /* numbers in the trace; 0: none */
	/* ns since 1970 by the wall clock; where the trace has no reading of it, ns of its own
	 * clock. Of a call whose beginning is not known, its end */
	int64_t begin;
	bool timed;	       /* how long it took is known: */
	double duration, self; /* ns */
	bool bounded;	       /* how far its time may be off from other machines' is known: */
	uint64_t early, late;  /* it may have been so many ns earlier, or later */
	const char *text;      /* the call with its values, UTF-8; "": they were not asked for */
	size_t text_n;	       /* its bytes */
	const struct dt_call *made; /* the call itself, */
	struct dt_pair *pair;	    /* and who has paired it: this is an event about its end */
};

struct dt_rows_events {
	/* For each call; returns false to stop. What a row points to, but for its text and the
	 * call, stays until this has been called once more, with NULL, at the end. */
	bool (*row)(void *ctx, const struct dt_row *row);
	/* A call begins, also one that is not chosen; NULL: nobody wants to know. */
	void (*begin)(void *ctx, struct dt_pair *pair, const struct dt_call *c);
	void *ctx;
};

/* Calls events for each call, as an export's `write' does. Returns -1 on error, without the last
 * row, NULL. */
int dt_rows_run(struct dt_reader *r, struct dt_formats *formats,
		const struct dt_chosen_calls *chosen, const struct dt_rows_events *events,
		struct dt_error *e);
/* Returns ns since 1970 by the wall clock; where the trace has no reading of it, ns of its own
 * clock. */
int64_t dt_rows_when(const struct dt_reader *r, uint64_t ticks);

#endif
