/* SPDX-License-Identifier: MIT */
/* A file's first bytes, for telling its format, also where it is a pipe. */
#ifndef DT_IMPORT_HEAD_H
#define DT_IMPORT_HEAD_H

#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

#define DT_HEAD_SIZE 4096

struct dt_head {
	uint8_t byte[DT_HEAD_SIZE + 1]; /* the last one is followed by a 0 */
	size_t n, given;
	FILE *f; /* the caller's */
};

/* Reads the first bytes of f. Returns a file that gives them once more and then the others; NULL:
 * error. Whoever closes it closes f afterwards; h stays until then. */
FILE *dt_head_read(struct dt_head *h, FILE *f, const char *path, struct dt_error *e);

#endif
