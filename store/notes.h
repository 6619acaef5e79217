/* SPDX-License-Identifier: MIT */
/*
 * Notes that a user has made about stretches of time, by `devtrace view`. They are a table of the
 * trace file (doc/format.md).
 */
#ifndef DT_STORE_NOTES_H
#define DT_STORE_NOTES_H

#include "store/reader.h"

#define DT_NOTES_MOST 1000 /* in a file */
#define DT_NOTE_BYTES 1000 /* of a text, at most */

struct dt_note {
	int64_t id;
	uint64_t begin, end; /* ticks */
	const char *text;
};

/* Calls fn for the notes, at most DT_NOTES_MOST, in the order of their begins. A file without the
 * table, or with another one of its name, has none. Returns -1 on error. */
int dt_notes_read(struct dt_reader *r, void (*fn)(void *ctx, const struct dt_note *n), void *ctx,
		  struct dt_error *e);

/* Put a note into the file at path, in place of the one with its id (0: it is new); and take one
 * out. Return -1 on error. */
int dt_notes_put(const char *path, const struct dt_note *n, struct dt_error *e);
int dt_notes_remove(const char *path, int64_t id, struct dt_error *e);

#endif
