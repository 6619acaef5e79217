/* SPDX-License-Identifier: MIT */
/* Copies of trace files, also of those that are being written: as they are at one moment. */
#ifndef DT_STORE_COPY_H
#define DT_STORE_COPY_H

#include "core/error.h"

/*
 * Appends the bytes of the trace at path to fd. One that nobody writes comes as it is, byte for
 * byte; of one that is being written, a database that holds what was flushed.
 */
int dt_copy_trace(const char *path, int fd, struct dt_error *e);

/* The number of the last chunk in the trace at path; 0: there is none. */
int dt_copy_last_chunk(const char *path, int64_t *last, struct dt_error *e);

/* A new trace at `to' with what the one at `from' has behind its chunk `last' (0: everything). */
int dt_copy_since(const char *from, int64_t last, const char *to, struct dt_error *e);

/* A directory of this process's own for a database that is soon removed again. */
struct dt_copy_place {
	char directory[200], path[220];
};
int dt_copy_place(struct dt_copy_place *p, struct dt_error *e);
void dt_copy_remove(struct dt_copy_place *p);

/* All bytes of one file behind those of another. */
int dt_copy_bytes(int from, int to, struct dt_error *e);

#endif
