/* SPDX-License-Identifier: MIT */
/* What processes used of memory and processor time, as the session has read it now and then
 * (session/usage.h). */
#ifndef DT_STORE_USAGE_H
#define DT_STORE_USAGE_H

#include "store/reader.h"
#include "store/store.h"

/* All rows, by process and time. All zero at first. */
struct dt_usages {
	struct dt_usage_row *row;
	size_t n, room;
	int64_t last; /* rowid of the last one that was read */
};

/* Reads the table; of a file without it there is nothing. Of a file that grows: called again, it
 * reads what has come meanwhile. Returns -1 on error. */
int dt_usages_load(struct dt_usages *u, struct dt_reader *r, struct dt_error *e);
void dt_usages_free(struct dt_usages *u);

#endif
