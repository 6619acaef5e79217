/* SPDX-License-Identifier: MIT */
/* Copies of trace files, including files that are being written: they are copied as they are at one
 * moment. */
#ifndef DT_STORE_COPY_H
#define DT_STORE_COPY_H

#include "core/error.h"

/*
 * Appends the bytes of the trace at path to fd. A file that nobody writes is copied byte for byte;
 * of one that is being written, fd gets a database that holds what was flushed. Returns -1 on
 * error.
 */
int dt_copy_trace(const char *path, int fd, struct dt_error *e);

/* Makes a new trace at `to', where there is a trace or nothing, of the one at `from', which may be
 * being written. note: meta value `snapshot' of the new one. Until it is complete it has another
 * name. Returns -1 on error. */
int dt_copy_snapshot(const char *from, const char *to, const char *note, struct dt_error *e);

/* Sets *last to the number of the last chunk in the trace at path, 0 if it has none. Returns -1 on
 * error. */
int dt_copy_last_chunk(const char *path, int64_t *last, struct dt_error *e);

/* Makes a new trace at `to' with what the trace at `from' has after its chunk `last' (0:
 * everything). Returns -1 on error. */
int dt_copy_since(const char *from, int64_t last, const char *to, struct dt_error *e);

/* A temporary directory that only this user can read, with the path of a database that is soon
 * removed again. */
struct dt_copy_place {
	char directory[200], path[220];
};
/* Makes the directory, in TMPDIR or /tmp. The database is not created. Returns -1 on error. */
int dt_copy_place(struct dt_copy_place *p, struct dt_error *e);
/* Removes the database, if there is one, and the directory. */
void dt_copy_remove(struct dt_copy_place *p);

/*
 * Copies everything from descriptor `from', up to its end, to descriptor `to'. Returns -1 on error.
 */
int dt_copy_bytes(int from, int to, struct dt_error *e);

#endif
