/* SPDX-License-Identifier: MIT */
/*
 * Bars: what a time line draws. A bar is a call, a time that a thread ran, an event; or what many
 * short ones are together. They are kept in lanes, one for each track, level and kind, about in
 * the order of their ends; a lane is cut into blocks, by columns, compressed. What they mean, and
 * which lanes there are, is analyse/pyramid.h's.
 *
 * They are kept in a temporary database, and put into the trace file when they are complete: table
 * pyramid(id INTEGER PRIMARY KEY, data BLOB), doc/format.md.
 */
#ifndef DT_STORE_BARS_H
#define DT_STORE_BARS_H

#include "core/error.h"
#include "store/chunk.h"

#define DT_LEVELS 32 /* of a lane */

struct dt_bar {
	uint64_t begin, end; /* ticks: of the first and of the last */
	uint64_t count;	     /* 1: it is the one itself */
	uint64_t busy;	     /* ticks that they took together */
	uint64_t most;	     /* of which in `what' */
	uint64_t low, high;  /* values, of those that have one */
	uint32_t what;	     /* function, thread...: of several, the one that took most */
	uint32_t flags;	     /* of one: DT_CALL_*; of several: those that any has */
	uint32_t depth;
};

struct dt_lane {
	uint32_t track;
	uint8_t level;
	bool single; /* one by one; else those that are too short for this level, together */
};

struct dt_bars;

struct dt_bars *dt_bars_new(struct dt_error *e);
/* Rows that the database of one that was opened had: there are no more blocks. */
uint64_t dt_bars_rows(const struct dt_bars *b);
void dt_bars_free(struct dt_bars *b);

/* The more a lane is in the order of ends, the faster it is read. */
int dt_bars_put(struct dt_bars *b, struct dt_lane lane, const struct dt_bar *bar,
		struct dt_error *e);

/* All bars of a lane with from <= end <= to. fn returns false to stop. */
int dt_bars_each(struct dt_bars *b, struct dt_lane lane, uint64_t from, uint64_t to,
		 bool (*fn)(void *ctx, const struct dt_bar *bar), void *ctx, struct dt_error *e);

/* Keeps n bytes, compressed; *id is for dt_bars_load(), which appends them to *out. */
int dt_bars_keep(struct dt_bars *b, const uint8_t *p, size_t n, int64_t *id, struct dt_error *e);
int dt_bars_load(struct dt_bars *b, int64_t id, struct dt_bytes *out, struct dt_error *e);

/* Puts everything into the trace file, with `head', n bytes that its user wants back. */
int dt_bars_save(struct dt_bars *b, const char *path, const uint8_t *head, size_t n,
		 struct dt_error *e);

/* What dt_bars_save() has put into a trace file; *head is appended to. NULL: there is nothing, and
 * e is not touched; or it can not be read. */
struct dt_bars *dt_bars_open(const char *path, struct dt_bytes *head, struct dt_error *e);

#endif
