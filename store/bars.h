/* SPDX-License-Identifier: MIT */
/*
 * Bars: what a time line draws. A bar is a call, a time that a thread ran, or an event; or it
 * stands for many short ones together. Bars are kept in lanes, one for each track, level and kind,
 * roughly in the order of their ends; a lane is cut into blocks, which are stored by columns and
 * compressed. What the bars mean, and which lanes there are, is described in analyse/pyramid.h.
 *
 * Bars are collected in a temporary database, and put into the trace file when they are complete:
 * table pyramid(id INTEGER PRIMARY KEY, data BLOB), doc/format.md.
 */
#ifndef DT_STORE_BARS_H
#define DT_STORE_BARS_H

#include "core/error.h"
#include "store/chunk.h"

#define DT_LEVELS 32 /* levels of a track: 0 to DT_LEVELS - 1 */

struct dt_bar {
	uint64_t begin, end; /* ticks: begin of the first, end of the last */
	uint64_t count;	     /* how many it stands for; 1: a single one */
	uint64_t busy;	     /* ticks that they took together */
	uint64_t most;	     /* ticks of `busy' that were spent in `what' */
	uint64_t low, high;  /* least and greatest value of those that have one */
	uint32_t what;	     /* function, thread...; of several: the one that took most */
	uint32_t flags;	     /* DT_CALL_* of the one; of several: all flags that any of them has */
	uint32_t depth;	     /* depth of the call in its track */
};

struct dt_lane {
	uint32_t track;
	uint8_t level;
	bool single; /* bars one by one; otherwise those too short for this level, put together */
};

/* A store of bars. The caller must not use one from two threads at a time. */
struct dt_bars;

/* Makes an empty store in a temporary database. NULL on error. */
struct dt_bars *dt_bars_new(struct dt_error *e);
/* Returns how many rows the table had when dt_bars_open() read it (0 after dt_bars_new()); there
 * are no more blocks than that. */
uint64_t dt_bars_rows(const struct dt_bars *b);
/* Frees the store; what was not saved is gone. b may be NULL. */
void dt_bars_free(struct dt_bars *b);

/* Appends a bar to a lane. The nearer the bars of a lane come in the order of their ends, the
 * faster the lane is read. Returns -1 on error. */
int dt_bars_put(struct dt_bars *b, struct dt_lane lane, const struct dt_bar *bar,
		struct dt_error *e);

/* Calls fn for all bars of a lane with from <= end <= to; fn returns false to stop. Returns -1 on
 * error. */
int dt_bars_each(struct dt_bars *b, struct dt_lane lane, uint64_t from, uint64_t to,
		 bool (*fn)(void *ctx, const struct dt_bar *bar), void *ctx, struct dt_error *e);

/* Stores n bytes, compressed; *id is for dt_bars_load(), which appends them to *out. Both return -1
 * on error; an error of storing may be told by a later call. */
int dt_bars_keep(struct dt_bars *b, const uint8_t *p, size_t n, int64_t *id, struct dt_error *e);
int dt_bars_load(struct dt_bars *b, int64_t id, struct dt_bytes *out, struct dt_error *e);

/* Puts everything into the trace file at path, with `head': n bytes that dt_bars_open() gives back.
 * Returns -1 on error. */
int dt_bars_save(struct dt_bars *b, const char *path, const uint8_t *head, size_t n,
		 struct dt_error *e);

/* Opens what dt_bars_save() has put into a trace file, and appends its head to *head. Returns NULL
 * if the file has none (then e is not touched), or if it cannot be read. */
struct dt_bars *dt_bars_open(const char *path, struct dt_bytes *head, struct dt_error *e);

#endif
