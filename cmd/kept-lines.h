/* SPDX-License-Identifier: MIT */
/*
 * Keeps the lines of each thread until it is the thread's turn to be printed. What is kept is their
 * content, which takes a fifth of their text: in memory up to a bound for all threads together,
 * then in a file.
 */
#ifndef DT_CMD_KEPT_LINES_H
#define DT_CMD_KEPT_LINES_H

#include "analyse/pair.h"

enum dt_kept_kind {
	DT_KEPT_OPEN,  /* "f() {" */
	DT_KEPT_CLOSE, /* "}" */
	DT_KEPT_WHOLE, /* a call in one line */
	DT_KEPT_TEXT,  /* text as it is */
};

/* What all threads share. The caller sets memory_max and fd, all else zero. */
struct dt_keep {
	size_t memory_max; /* bytes to be kept in memory, apart from one buffer a thread (16 KiB) */
	int fd;		   /* -1 until there is a file */
	bool failed;	   /* reported on stderr; nothing more is kept */
	uint64_t size;	   /* bytes in the file */
	size_t memory;	   /* bytes kept in memory */
};

struct dt_kept_piece {
	char *memory; /* NULL: the piece is in the file, */
	uint64_t at;  /* at this offset */
	uint32_t n;   /* bytes */
};

/* The lines of one thread. All zero at first. */
struct dt_kept {
	struct dt_kept_piece *piece;
	size_t pieces, room;
	char *buffer;	/* the last piece, still being filled */
	uint32_t n;	/* bytes in it */
	uint32_t level; /* the level that the next line is expected to have */
};

/*
 * Keeps a line about a call: its function, flags and duration, and those of its arguments and
 * results that `values' says: bits 0-3 arguments, 4-7 results, two results at most. c->argument and
 * c->result may be NULL.
 */
void dt_kept_call(struct dt_keep *k, struct dt_kept *t, enum dt_kept_kind kind,
		  const struct dt_call *c, uint32_t level, unsigned values);

/* Keeps n bytes of text as they are. Long text is taken out in several parts. */
void dt_kept_text(struct dt_keep *k, struct dt_kept *t, const char *text, size_t n);

/* Takes a thread's lines out again, in the order in which they were kept. */
struct dt_kept_cursor {
	struct dt_keep *keep;
	struct dt_kept *kept;
	size_t next_piece;
	char *buffer, *file_buffer;
	uint32_t n, at, level;
	/* what dt_kept_next() has taken out: */
	enum dt_kept_kind kind;
	uint32_t line_level;
	struct dt_call call; /* only what was kept; begin is 0, end the duration */
	uint64_t argument[4], result[4];
	const char *text; /* of DT_KEPT_TEXT: text_n bytes, valid until the next line */
	size_t text_n;
};

/* Sets a cursor to the first line of a thread. */
void dt_kept_rewind(struct dt_kept_cursor *c, struct dt_keep *k, struct dt_kept *t);

/* Takes out the next line; false: there are no more, or reading failed (dt_keep.failed). values_of
 * must return what dt_kept_call() was given as `values' for the function. */
bool dt_kept_next(struct dt_kept_cursor *c, unsigned (*values_of)(void *ctx, uint32_t function),
		  void *ctx);

/* Frees a thread's lines and the cursor's memory. */
void dt_kept_end(struct dt_kept_cursor *c);

/* Closes the file. */
void dt_keep_close(struct dt_keep *k);

#endif
