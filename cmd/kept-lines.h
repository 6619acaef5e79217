/* SPDX-License-Identifier: MIT */
/*
 * Lines of a thread that are to be written when it is that thread's turn: kept as what they say, a
 * fifth of the text. In memory up to a bound that holds for all threads together, then in a file.
 */
#ifndef DT_CMD_KEPT_LINES_H
#define DT_CMD_KEPT_LINES_H

#include "analyse/pair.h"

enum dt_kept_kind {
	DT_KEPT_OPEN,
	DT_KEPT_CLOSE,
	DT_KEPT_WHOLE,
	DT_KEPT_TEXT,
};

/* What all threads have together. */
struct dt_keep {
	size_t memory_max; /* given: bytes to be kept in memory, beside some KiB a thread */
	int fd;		   /* -1 until there is a file */
	bool failed;	   /* said on stderr */
	uint64_t size;	   /* of the file */
	size_t memory;	   /* bytes kept in it */
};

struct dt_kept_piece {
	char *memory; /* NULL: in the file... */
	uint64_t at;  /* ...there */
	uint32_t n;
};

/* A thread's. Zero at first. */
struct dt_kept {
	struct dt_kept_piece *piece;
	size_t pieces, room;
	char *buffer; /* the last piece, still being filled */
	uint32_t n;
	uint32_t level; /* expected of the next line */
};

/*
 * Keeps a line about a call: its function, flags, duration, and of its arguments and result, where
 * they are not NULL, the values in `values': bits 0-3 arguments, 4-7 results, two results at most.
 */
void dt_kept_call(struct dt_keep *k, struct dt_kept *t, enum dt_kept_kind kind,
		  const struct dt_call *c, uint32_t level, unsigned values);

/* Keeps text as it is. One that is long comes out in several parts. */
void dt_kept_text(struct dt_keep *k, struct dt_kept *t, const char *text, size_t n);

/* Takes a thread's lines out again, in their order. */
struct dt_kept_cursor {
	struct dt_keep *keep;
	struct dt_kept *kept;
	size_t next_piece;
	char *buffer, *file_buffer;
	uint32_t n, at, level;
	/* the line: */
	enum dt_kept_kind kind;
	uint32_t line_level;
	struct dt_call call; /* begin is 0, end the duration */
	uint64_t argument[4], result[4];
	const char *text;
	size_t text_n;
};

void dt_kept_rewind(struct dt_kept_cursor *c, struct dt_keep *k, struct dt_kept *t);

/* False: there are no more, or reading failed (dt_keep.failed). values_of: as given when kept. */
bool dt_kept_next(struct dt_kept_cursor *c, unsigned (*values_of)(void *ctx, uint32_t function),
		  void *ctx);

/* Forgets a thread's lines and the cursor. */
void dt_kept_end(struct dt_kept_cursor *c);

void dt_keep_close(struct dt_keep *k);

#endif
